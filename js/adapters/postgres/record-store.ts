/**
 * The first step: the records, and the functions through which they are read and written. A call is one statement, and so one
 * transaction.
 */

import type { MigrationNames } from "./migrations.js";
import { ownRows } from "./rights.js";

const RECORDS = [
  "memory_meta", "conversations", "conversation_messages", "conversation_message_ids", "conversation_summaries",
  "conversation_summary_heads", "user_memories", "memory_sources", "episodes", "notes", "message_embeddings", "index_segments",
  "index_segment_chunks", "jobs", "audit", "changes",
];
/** In the order in which a user is erased. */
const OTHERS = ["memory_writers", "memory_leases", "memory_users"];

/** SQL of the step. */
export function recordStore(names: MigrationNames): string {
  return [tables(names), policies(names), opening(names), reading(names), committing(names), erasing(names), leases(names)].join("\n");
}

/** The type of vectors, and what gives one's bytes. */
function vectorType({ vectors }: MigrationNames): { type: string; sent: string } {
  if (vectors === undefined) return { type: "bytea", sent: "r.embedding" };
  return { type: `${vectors}.vector`, sent: `${vectors}.vector_send(r.embedding)` };
}

function tables(names: MigrationNames): string {
  const { schema } = names;
  const records = RECORDS.map(
    (table) => `
CREATE TABLE ${schema}.${table} (
  user_id text COLLATE "C" NOT NULL, key bytea NOT NULL, body text NOT NULL, blob bytea,
  ${table === "message_embeddings" ? `embedding ${vectorType(names).type},` : ""}
  PRIMARY KEY (user_id, key)
);`,
  );
  return `
CREATE TABLE ${schema}.memory_users (
  user_id text COLLATE "C" PRIMARY KEY, incarnation uuid NOT NULL DEFAULT gen_random_uuid(), commits bigint NOT NULL DEFAULT 0
);
CREATE TABLE ${schema}.memory_writers (
  user_id text COLLATE "C" NOT NULL, writer uuid NOT NULL, last_commit bigint NOT NULL, at timestamptz NOT NULL DEFAULT now(),
  PRIMARY KEY (user_id, writer)
);
CREATE TABLE ${schema}.memory_leases (
  user_id text COLLATE "C" NOT NULL, name text COLLATE "C" NOT NULL, holder uuid NOT NULL, ends_at timestamptz NOT NULL,
  PRIMARY KEY (user_id, name)
);
${records.join("")}`;
}

function policies({ schema }: MigrationNames): string {
  return [...RECORDS, ...OTHERS].map((table) => ownRows(schema, table)).join("");
}

function opening({ schema }: MigrationNames): string {
  return `
CREATE FUNCTION ${schema}.open_user(given_user text) RETURNS uuid LANGUAGE plpgsql AS $$
DECLARE born uuid;
BEGIN
  PERFORM set_config('throughline.user_id', given_user, true);
  DELETE FROM ${schema}.memory_writers WHERE user_id = given_user AND at < now() - interval '1 hour';
  SELECT incarnation INTO born FROM ${schema}.memory_users WHERE user_id = given_user;
  IF born IS NULL THEN
    INSERT INTO ${schema}.memory_users (user_id) VALUES (given_user) ON CONFLICT DO NOTHING;
    SELECT incarnation INTO born FROM ${schema}.memory_users WHERE user_id = given_user;
  END IF;
  RETURN born;
END $$;

-- Whoever opened the user before an erasure must not see or write what came after it.
CREATE FUNCTION ${schema}.refuse_erased() RETURNS void LANGUAGE plpgsql AS $$
BEGIN
  RAISE EXCEPTION 'the records of this user were erased' USING ERRCODE = 'TL001';
END $$;`;
}

function reading(names: MigrationNames): string {
  const { schema } = names;
  return `
-- Not volatile: all of it is read in one snapshot. The planner's guesses about JSON must not lead to a scan: OFFSET 0 keeps each
-- look-up a look-up.
CREATE FUNCTION ${schema}.get_records(given_user text, given_incarnation uuid, given json)
RETURNS TABLE (place int, body text, blob bytea, embedding bytea) LANGUAGE plpgsql STABLE AS $$
DECLARE wanted record;
BEGIN
  PERFORM set_config('throughline.user_id', given_user, true);
  IF NOT EXISTS (SELECT FROM ${schema}.memory_users WHERE user_id = given_user AND incarnation = given_incarnation) THEN
    PERFORM ${schema}.refuse_erased();
  END IF;
  FOR wanted IN SELECT * FROM json_each(given) AS each (name, keys) LOOP
    RETURN QUERY EXECUTE format(
      'SELECT k.place, r.body, r.blob, %s FROM json_to_recordset($2) AS k (place int, key bytea)
       CROSS JOIN LATERAL (SELECT * FROM ${schema}.%I AS t WHERE t.user_id = $1 AND t.key = k.key OFFSET 0) AS r',
      ${schema}.embedding_of(wanted.name), wanted.name) USING given_user, wanted.keys;
  END LOOP;
END $$;

CREATE FUNCTION ${schema}.embedding_of(given_table text) RETURNS text LANGUAGE sql IMMUTABLE AS $$
  SELECT CASE given_table WHEN 'message_embeddings' THEN '${vectorType(names).sent.replaceAll("'", "''")}' ELSE 'NULL::bytea' END
$$;

CREATE FUNCTION ${schema}.scan_records(given_user text, given_incarnation uuid, given_table text, low bytea, high bytea, most bigint, is_reverse boolean)
RETURNS TABLE (key bytea, body text, blob bytea, embedding bytea) LANGUAGE plpgsql STABLE AS $$
BEGIN
  PERFORM set_config('throughline.user_id', given_user, true);
  IF NOT EXISTS (SELECT FROM ${schema}.memory_users WHERE user_id = given_user AND incarnation = given_incarnation) THEN
    PERFORM ${schema}.refuse_erased();
  END IF;
  RETURN QUERY EXECUTE format(
    'SELECT r.key, r.body, r.blob, %s FROM ${schema}.%I AS r WHERE r.user_id = $1 AND r.key >= $2 AND r.key < $3
     ORDER BY r.user_id %s, r.key %s LIMIT $4',
    ${schema}.embedding_of(given_table), given_table, CASE WHEN is_reverse THEN 'DESC' ELSE 'ASC' END, CASE WHEN is_reverse THEN 'DESC' ELSE 'ASC' END)
    USING given_user, low, high, most;
END $$;

CREATE FUNCTION ${schema}.count_records(given_user text, given_incarnation uuid, given_table text, low bytea, high bytea)
RETURNS bigint LANGUAGE plpgsql STABLE AS $$
DECLARE counted bigint;
BEGIN
  PERFORM set_config('throughline.user_id', given_user, true);
  IF NOT EXISTS (SELECT FROM ${schema}.memory_users WHERE user_id = given_user AND incarnation = given_incarnation) THEN
    PERFORM ${schema}.refuse_erased();
  END IF;
  EXECUTE format('SELECT count(*) FROM ${schema}.%I AS r WHERE r.user_id = $1 AND r.key >= $2 AND r.key < $3', given_table)
    INTO counted USING given_user, low, high;
  RETURN counted;
END $$;`;
}

function committing(names: MigrationNames): string {
  const { schema } = names;
  return `
-- The user's row is written first, so commits to one user wait for each other and what is checked stays as it is. A commit whose
-- answer was lost is asked for again under its number, and carried out once.
CREATE FUNCTION ${schema}.commit_records(given_user text, given_incarnation uuid, given_writer uuid, given_number bigint, is_strict boolean, given json)
RETURNS boolean LANGUAGE plpgsql AS $$
DECLARE part record; span record; holds boolean;
BEGIN
  PERFORM set_config('throughline.user_id', given_user, true);
  IF NOT is_strict THEN
    PERFORM set_config('synchronous_commit', 'off', true);
  ELSIF current_setting('synchronous_commit') = 'off' THEN
    PERFORM set_config('synchronous_commit', 'on', true);
  END IF;
  UPDATE ${schema}.memory_users SET commits = commits + 1 WHERE user_id = given_user AND incarnation = given_incarnation;
  IF NOT FOUND THEN
    PERFORM ${schema}.refuse_erased();
  END IF;
  IF EXISTS (SELECT FROM ${schema}.memory_writers WHERE user_id = given_user AND writer = given_writer AND last_commit >= given_number) THEN
    RETURN true;
  END IF;
  FOR part IN SELECT * FROM json_each(given->'checks') AS each (name, list) LOOP
    EXECUTE format(
      'SELECT NOT EXISTS (SELECT FROM json_to_recordset($2) AS c (key bytea, body text)
       LEFT JOIN LATERAL (SELECT t.body FROM ${schema}.%I AS t WHERE t.user_id = $1 AND t.key = c.key OFFSET 0) AS r ON true
       WHERE c.body IS DISTINCT FROM r.body)', part.name) INTO holds USING given_user, part.list;
    IF NOT holds THEN
      RETURN false;
    END IF;
  END LOOP;
  FOR part IN SELECT * FROM json_each(given->'ranges') AS each (name, list) LOOP
    FOR span IN SELECT * FROM json_to_recordset(part.list) AS s (low bytea, high bytea) LOOP
      EXECUTE format('DELETE FROM ${schema}.%I AS t WHERE t.user_id = $1 AND t.key >= $2 AND t.key < $3', part.name)
        USING given_user, span.low, span.high;
    END LOOP;
  END LOOP;
  FOR part IN SELECT * FROM json_each(given->'deletes') AS each (name, list) LOOP
    EXECUTE format('DELETE FROM ${schema}.%I AS t WHERE t.user_id = $1 AND t.key = ANY ($2)', part.name)
      USING given_user, ARRAY(SELECT value::bytea FROM json_array_elements_text(part.list));
  END LOOP;
  FOR part IN SELECT * FROM json_each(given->'puts') AS each (name, list) LOOP
    IF part.name = 'message_embeddings' THEN
      INSERT INTO ${schema}.message_embeddings AS t (user_id, key, body, blob, embedding)
        SELECT given_user, p.key, p.body, p.blob, p.embedding
        FROM json_to_recordset(part.list) AS p (key bytea, body text, blob bytea, embedding ${vectorType(names).type})
        ON CONFLICT (user_id, key) DO UPDATE SET body = EXCLUDED.body, blob = EXCLUDED.blob, embedding = EXCLUDED.embedding;
    ELSE
      EXECUTE format(
        'INSERT INTO ${schema}.%I AS t (user_id, key, body, blob)
         SELECT $1, p.key, p.body, p.blob FROM json_to_recordset($2) AS p (key bytea, body text, blob bytea)
         ON CONFLICT (user_id, key) DO UPDATE SET body = EXCLUDED.body, blob = EXCLUDED.blob', part.name) USING given_user, part.list;
    END IF;
  END LOOP;
  INSERT INTO ${schema}.memory_writers AS w (user_id, writer, last_commit) VALUES (given_user, given_writer, given_number)
    ON CONFLICT (user_id, writer) DO UPDATE SET last_commit = EXCLUDED.last_commit, at = now();
  RETURN true;
END $$;`;
}

function erasing({ schema }: MigrationNames): string {
  return `
CREATE FUNCTION ${schema}.erase_user(given_user text, given_incarnation uuid) RETURNS boolean LANGUAGE plpgsql AS $$
BEGIN
  PERFORM set_config('throughline.user_id', given_user, true);
  UPDATE ${schema}.memory_users SET commits = commits + 1 WHERE user_id = given_user AND incarnation = given_incarnation;
  IF NOT FOUND THEN
    RETURN false;
  END IF;
${[...RECORDS, ...OTHERS].map((table) => `  DELETE FROM ${schema}.${table} WHERE user_id = given_user;`).join("\n")}
  RETURN true;
END $$;`;
}

function leases({ schema }: MigrationNames): string {
  return `
CREATE FUNCTION ${schema}.take_lease(given_user text, given_name text, given_holder uuid, given_seconds double precision)
RETURNS boolean LANGUAGE plpgsql AS $$
BEGIN
  PERFORM set_config('throughline.user_id', given_user, true);
  PERFORM set_config('synchronous_commit', 'off', true);
  INSERT INTO ${schema}.memory_leases AS l (user_id, name, holder, ends_at)
    VALUES (given_user, given_name, given_holder, clock_timestamp() + make_interval(secs => given_seconds))
    ON CONFLICT (user_id, name) DO UPDATE SET holder = EXCLUDED.holder, ends_at = EXCLUDED.ends_at
    WHERE l.holder = EXCLUDED.holder OR l.ends_at < clock_timestamp();
  RETURN FOUND;
END $$;

CREATE FUNCTION ${schema}.release_lease(given_user text, given_name text, given_holder uuid) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
  PERFORM set_config('throughline.user_id', given_user, true);
  PERFORM set_config('synchronous_commit', 'off', true);
  DELETE FROM ${schema}.memory_leases WHERE user_id = given_user AND name = given_name AND holder = given_holder;
END $$;
`;
}
