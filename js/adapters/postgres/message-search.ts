/**
 * The third step: what messages are searched by. Beside each message stand its entry (what the engine's analyzer made of it) and
 * a row for each of its terms; beside each vector its direction, as whole numbers from -127 to 127, which is what the engine
 * compares. Triggers keep them true to the records whoever writes these: an entry goes with its message, and with a message that
 * is put without one, so that the engine makes it anew; directions are made here.
 *
 * Terms are rows of a B-tree. A GIN index of arrays or of a tsvector would take less room, but not be used: under row-level
 * security only operators that leak nothing may look into an index before the policy has been asked, and of those for equality
 * that is so, of `&&` and `@@` not. Vectors are compared one by one within their user: of a thousand that takes less time than an
 * HNSW index over all users takes to meet enough of one user, and misses none.
 */

import type { MigrationNames } from "./migrations.js";
import { ownRows, sameRights } from "./rights.js";

const TABLES = ["search_chats", "search_messages", "search_terms"];

/** SQL of the step. */
export function messageSearch(names: MigrationNames): string {
  const tables = names.vectors === undefined ? TABLES : [...TABLES, "search_vectors"];
  return [layout(names), policies(names, tables), keys(names), vectors(names), vectorUpkeep(names), entries(names), upkeep(names), committing(names), erasing(names, tables), reading(names)].join("\n");
}

function layout({ schema, vectors }: MigrationNames): string {
  const directions = `
CREATE TABLE ${schema}.search_vectors (
  user_id text COLLATE "C" NOT NULL, chat int NOT NULL, seq int NOT NULL, part int NOT NULL, model text COLLATE "C" NOT NULL,
  direction %s NOT NULL, PRIMARY KEY (user_id, chat, seq, part)
)`;
  return `
-- A conversation by the first bytes of its messages' keys, and its number.
CREATE TABLE ${schema}.search_chats (
  user_id text COLLATE "C" NOT NULL, conversation bytea NOT NULL, chat int NOT NULL,
  PRIMARY KEY (user_id, conversation), UNIQUE (user_id, chat)
);
CREATE TABLE ${schema}.search_messages (
  user_id text COLLATE "C" NOT NULL, chat int NOT NULL, seq int NOT NULL, line bytea NOT NULL, marks bytea NOT NULL, terms bigint[] NOT NULL,
  PRIMARY KEY (user_id, chat, seq)
);
CREATE TABLE ${schema}.search_terms (
  user_id text COLLATE "C" NOT NULL, term bigint NOT NULL, chat int NOT NULL, seq int NOT NULL, frequency int NOT NULL,
  PRIMARY KEY (user_id, term, chat, seq)
);
${vectors === undefined ? "" : `
-- Whole numbers up to 127 are exact in half precision, which pgvector has since 0.7.
DO $made$ BEGIN
  EXECUTE format($table$${directions}$table$, CASE WHEN to_regtype('${vectors}.halfvec') IS NULL THEN '${vectors}.vector' ELSE '${vectors}.halfvec' END);
END $made$;`}`;
}

function policies(names: MigrationNames, tables: readonly string[]): string {
  return tables.map((table) => ownRows(names.schema, table)).join("") + sameRights(names, tables);
}

function keys({ schema }: MigrationNames): string {
  return `
-- A whole number below 2^53 of a key: the double whose eight bytes begin at a place.
CREATE FUNCTION ${schema}.key_number(given_key bytea, place int) RETURNS int LANGUAGE sql IMMUTABLE AS $$
  SELECT CASE WHEN bits = 0 THEN 0 ELSE (((bits & 4503599627370495) | 4503599627370496) >> (1075 - (bits >> 52)::int))::int END
  FROM (SELECT ('x' || encode(substring(given_key FROM place FOR 8), 'hex'))::bit(64)::bigint AS bits) AS double
$$;

-- Made where it is not there; then it has no directions yet.
CREATE FUNCTION ${schema}.chat_of(given_user text, given_conversation bytea) RETURNS int LANGUAGE plpgsql AS $$
DECLARE found int;
BEGIN
  SELECT chat INTO found FROM ${schema}.search_chats WHERE user_id = given_user AND conversation = given_conversation;
  IF found IS NULL THEN
    SELECT coalesce(max(chat), 0) + 1 INTO found FROM ${schema}.search_chats WHERE user_id = given_user;
    INSERT INTO ${schema}.search_chats (user_id, conversation, chat) VALUES (given_user, given_conversation, found);
    PERFORM ${schema}.put_directions(given_user, found, given_conversation);
  END IF;
  RETURN found;
END $$;`;
}

function vectors({ schema, vectors }: MigrationNames): string {
  if (vectors === undefined) {
    return `
CREATE FUNCTION ${schema}.put_directions(given_user text, given_chat int, given_conversation bytea) RETURNS void LANGUAGE sql AS $$ $$;`;
  }
  return `
-- The quantised row that src/vector/quantise.rs makes; none of a vector without direction.
CREATE FUNCTION ${schema}.direction_of(given ${vectors}.vector) RETURNS ${vectors}.vector LANGUAGE sql IMMUTABLE AS $$
  SELECT CASE WHEN largest > 0 THEN (
    SELECT array_agg((sign(q) * floor(abs(q) + 0.5))::real ORDER BY place)
    FROM (SELECT (n / largest * 127::real)::double precision AS q, place FROM unnest(given::real[]) WITH ORDINALITY AS each (n, place)) AS scaled
  )::${vectors}.vector END
  FROM (SELECT max(abs(n)) AS largest FROM unnest(given::real[]) AS each (n)) AS reach
$$;

-- The embedder's name in a record. One with U+0000 in it is none that PostgreSQL can hold.
CREATE FUNCTION ${schema}.model_of(given_body text) RETURNS text LANGUAGE sql IMMUTABLE AS $$
  SELECT CASE WHEN given_body LIKE '{%' AND position('\\u0000' IN given_body) = 0 THEN given_body::json->>'model' END
$$;

CREATE FUNCTION ${schema}.put_directions(given_user text, given_chat int, given_conversation bytea) RETURNS void LANGUAGE sql AS $$
  INSERT INTO ${schema}.search_vectors (user_id, chat, seq, part, model, direction)
    SELECT given_user, given_chat, ${schema}.key_number(key, length(key) - 16), ${schema}.key_number(key, length(key) - 7), model, direction
    FROM (
      SELECT key, ${schema}.model_of(body) AS model, ${schema}.direction_of(embedding) AS direction FROM ${schema}.message_embeddings
      WHERE user_id = given_user AND key >= given_conversation || '\\x01' AND key < given_conversation || '\\x02' AND length(key) = length(given_conversation) + 18 AND embedding IS NOT NULL OFFSET 0
    ) AS made
    WHERE model IS NOT NULL AND direction IS NOT NULL
    ON CONFLICT (user_id, chat, seq, part) DO UPDATE SET model = EXCLUDED.model, direction = EXCLUDED.direction
$$;`;
}

function vectorUpkeep({ schema, vectors }: MigrationNames): string {
  if (vectors === undefined) return "";
  return `
CREATE FUNCTION ${schema}.follow_vector() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE made ${vectors}.vector; named text; of_user text; changed bytea; found int; at_seq int; at_part int;
BEGIN
  IF TG_OP = 'DELETE' THEN
    of_user := OLD.user_id;
    changed := OLD.key;
  ELSE
    of_user := NEW.user_id;
    changed := NEW.key;
  END IF;
  SELECT chat INTO found FROM ${schema}.search_chats WHERE user_id = of_user AND conversation = substring(changed FOR greatest(length(changed) - 18, 0));
  IF found IS NULL THEN
    RETURN NULL;
  END IF;
  at_seq := ${schema}.key_number(changed, length(changed) - 16);
  at_part := ${schema}.key_number(changed, length(changed) - 7);
  IF TG_OP <> 'INSERT' THEN
    DELETE FROM ${schema}.search_vectors WHERE user_id = of_user AND chat = found AND seq = at_seq AND part = at_part;
  END IF;
  IF TG_OP <> 'DELETE' THEN
    made := ${schema}.direction_of(NEW.embedding);
    named := ${schema}.model_of(NEW.body);
    IF made IS NOT NULL AND named IS NOT NULL THEN
      INSERT INTO ${schema}.search_vectors (user_id, chat, seq, part, model, direction) VALUES (of_user, found, at_seq, at_part, named, made)
        ON CONFLICT (user_id, chat, seq, part) DO UPDATE SET model = EXCLUDED.model, direction = EXCLUDED.direction;
    END IF;
  END IF;
  RETURN NULL;
END $$;
CREATE TRIGGER follow_vector AFTER INSERT OR UPDATE OR DELETE ON ${schema}.message_embeddings FOR EACH ROW EXECUTE FUNCTION ${schema}.follow_vector();`;
}

function entries({ schema }: MigrationNames): string {
  return `
CREATE FUNCTION ${schema}.drop_entry(given_user text, given_chat int, given_seq int) RETURNS void LANGUAGE plpgsql AS $$
DECLARE gone bigint[];
BEGIN
  DELETE FROM ${schema}.search_messages WHERE user_id = given_user AND chat = given_chat AND seq = given_seq RETURNING terms INTO gone;
  DELETE FROM ${schema}.search_terms WHERE user_id = given_user AND term = ANY (gone) AND chat = given_chat AND seq = given_seq;
END $$;

CREATE FUNCTION ${schema}.put_entries(given_user text, given json) RETURNS void LANGUAGE plpgsql AS $$
DECLARE entry record; chat_number int; place int;
BEGIN
  FOR entry IN SELECT * FROM json_to_recordset(given) AS e (key bytea, line bytea, marks bytea, terms bigint[], frequencies int[]) LOOP
    SELECT ${schema}.chat_of(given_user, substring(entry.key FOR length(entry.key) - 9)) INTO chat_number;
    place := ${schema}.key_number(entry.key, length(entry.key) - 7);
    INSERT INTO ${schema}.search_messages (user_id, chat, seq, line, marks, terms) VALUES (given_user, chat_number, place, entry.line, entry.marks, entry.terms);
    INSERT INTO ${schema}.search_terms (user_id, term, chat, seq, frequency)
      SELECT given_user, t.term, chat_number, place, t.frequency FROM unnest(entry.terms, entry.frequencies) AS t (term, frequency);
  END LOOP;
END $$;`;
}

function upkeep({ schema, vectors }: MigrationNames): string {
  return `
CREATE FUNCTION ${schema}.follow_message() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE found int;
BEGIN
  SELECT chat INTO found FROM ${schema}.search_chats WHERE user_id = OLD.user_id AND conversation = substring(OLD.key FOR greatest(length(OLD.key) - 9, 0));
  IF found IS NOT NULL THEN
    PERFORM ${schema}.drop_entry(OLD.user_id, found, ${schema}.key_number(OLD.key, length(OLD.key) - 7));
  END IF;
  RETURN NULL;
END $$;
CREATE TRIGGER follow_message AFTER UPDATE OR DELETE ON ${schema}.conversation_messages FOR EACH ROW EXECUTE FUNCTION ${schema}.follow_message();

-- With a conversation goes its name, which may say something, and whatever is still of it.
CREATE FUNCTION ${schema}.follow_conversation() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE found int;
BEGIN
  DELETE FROM ${schema}.search_chats WHERE user_id = OLD.user_id AND conversation = OLD.key RETURNING chat INTO found;
  IF found IS NOT NULL THEN
    PERFORM ${schema}.drop_entry(OLD.user_id, found, seq) FROM ${schema}.search_messages WHERE user_id = OLD.user_id AND chat = found;
    ${vectors === undefined ? "" : `DELETE FROM ${schema}.search_vectors WHERE user_id = OLD.user_id AND chat = found;`}
  END IF;
  RETURN NULL;
END $$;
CREATE TRIGGER follow_conversation AFTER DELETE ON ${schema}.conversations FOR EACH ROW EXECUTE FUNCTION ${schema}.follow_conversation();`;
}

function committing({ schema }: MigrationNames): string {
  return `
-- A commit with the entries of its messages. One that is asked for again has its entries already, or newer ones.
CREATE FUNCTION ${schema}.commit_searched(given_user text, given_incarnation uuid, given_writer uuid, given_number bigint, is_strict boolean, given json, entries json)
RETURNS boolean LANGUAGE plpgsql AS $$
DECLARE is_done boolean;
BEGIN
  PERFORM set_config('throughline.user_id', given_user, true);
  PERFORM FROM ${schema}.memory_users WHERE user_id = given_user AND incarnation = given_incarnation FOR UPDATE;
  is_done := EXISTS (SELECT FROM ${schema}.memory_writers WHERE user_id = given_user AND writer = given_writer AND last_commit >= given_number);
  IF NOT ${schema}.commit_records(given_user, given_incarnation, given_writer, given_number, is_strict, given) THEN
    RETURN false;
  END IF;
  IF NOT is_done THEN
    PERFORM ${schema}.put_entries(given_user, entries);
  END IF;
  RETURN true;
END $$;`;
}

function erasing({ schema }: MigrationNames, tables: readonly string[]): string {
  return `
ALTER FUNCTION ${schema}.erase_user(text, uuid) RENAME TO erase_records;
CREATE FUNCTION ${schema}.erase_user(given_user text, given_incarnation uuid) RETURNS boolean LANGUAGE plpgsql AS $$
DECLARE is_done boolean;
BEGIN
  PERFORM set_config('throughline.user_id', given_user, true);
  PERFORM FROM ${schema}.memory_users WHERE user_id = given_user AND incarnation = given_incarnation FOR UPDATE;
  IF NOT FOUND THEN
    RETURN false;
  END IF;
${tables.map((table) => `  DELETE FROM ${schema}.${table} WHERE user_id = given_user;`).join("\n")}
  SELECT ${schema}.erase_records(given_user, given_incarnation) INTO is_done;
  RETURN is_done;
END $$;`;
}

function reading(names: MigrationNames): string {
  const { schema, vectors } = names;
  const near = vectors === undefined ? undefined : {
    declared: `asked ${vectors}.vector := given_vector::${vectors}.vector;`,
    answered: `
  IF given_model IS NOT NULL THEN
    RETURN QUERY SELECT -2, c.conversation, string_agg(int4send(n.seq) || float4send(n.near), ''::bytea)
      FROM (
        SELECT v.chat, v.seq, max(1 - (v.direction::${vectors}.vector OPERATOR(${vectors}.<=>) asked))::real AS near
        FROM ${schema}.search_vectors AS v WHERE v.user_id = given_user AND v.model = given_model GROUP BY v.chat, v.seq
      ) AS n
      JOIN ${schema}.search_chats AS c ON c.user_id = given_user AND c.chat = n.chat GROUP BY c.conversation;
  END IF;`,
  };
  return `
-- As for records, OFFSET 0 keeps each look-up a look-up.
CREATE FUNCTION ${schema}.search_lines(given_user text, given_incarnation uuid, given json)
RETURNS TABLE (place int, lines bytea) LANGUAGE plpgsql STABLE AS $$
BEGIN${guard(schema)}
  RETURN QUERY SELECT w.place, string_agg(int4send(m.seq) || int4send(length(m.line)) || m.line, ''::bytea ORDER BY m.seq)
    FROM json_to_recordset(given) AS w (place int, conversation bytea, first int, last int)
    CROSS JOIN LATERAL (SELECT s.chat FROM ${schema}.search_chats AS s WHERE s.user_id = given_user AND s.conversation = w.conversation OFFSET 0) AS c
    CROSS JOIN LATERAL (
      SELECT s.seq, s.line FROM ${schema}.search_messages AS s WHERE s.user_id = given_user AND s.chat = c.chat AND s.seq BETWEEN w.first AND w.last OFFSET 0
    ) AS m
    GROUP BY w.place;
END $$;
${findingFunction(schema, near)}`;
}

/** SQL of the function that answers a question; `near`: what it declares, and does, for vectors. */
export function findingFunction(schema: string, near: { declared: string; answered: string } | undefined): string {
  return `
CREATE OR REPLACE FUNCTION ${schema}.search_found(given_user text, given_incarnation uuid, given_terms bigint[], wants_marks boolean, given_model text, given_vector text)
RETURNS TABLE (place int, conversation bytea, found bytea) LANGUAGE plpgsql STABLE AS $$
${near === undefined ? "" : `DECLARE ${near.declared}
`}BEGIN${guard(schema)}
  RETURN QUERY SELECT a.place::int - 1, c.conversation, string_agg(int4send(t.seq) || int2send((t.frequency - CASE WHEN t.frequency > 32767 THEN 65536 ELSE 0 END)::smallint), ''::bytea)
    FROM unnest(given_terms) WITH ORDINALITY AS a (term, place)
    CROSS JOIN LATERAL (SELECT s.chat, s.seq, s.frequency FROM ${schema}.search_terms AS s WHERE s.user_id = given_user AND s.term = a.term OFFSET 0) AS t
    JOIN ${schema}.search_chats AS c ON c.user_id = given_user AND c.chat = t.chat
    GROUP BY a.place, c.conversation;
  IF wants_marks THEN
    RETURN QUERY SELECT -1, c.conversation, string_agg(int4send(m.seq) || int4send(length(m.marks)) || m.marks, ''::bytea)
      FROM (SELECT DISTINCT s.chat, s.seq FROM ${schema}.search_terms AS s WHERE s.user_id = given_user AND s.term = ANY (given_terms)) AS h
      CROSS JOIN LATERAL (
        SELECT s.chat, s.seq, s.marks FROM ${schema}.search_messages AS s WHERE s.user_id = given_user AND s.chat = h.chat AND s.seq = h.seq OFFSET 0
      ) AS m
      JOIN ${schema}.search_chats AS c ON c.user_id = given_user AND c.chat = m.chat
      GROUP BY c.conversation;
  END IF;${near?.answered ?? ""}
END $$;`;
}

/** The user is named for row-level security, and was not erased meanwhile. */
function guard(schema: string): string {
  return `
  PERFORM set_config('throughline.user_id', given_user, true);
  IF NOT EXISTS (SELECT FROM ${schema}.memory_users WHERE user_id = given_user AND incarnation = given_incarnation) THEN
    PERFORM ${schema}.refuse_erased();
  END IF;`;
}
