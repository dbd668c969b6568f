SET check_function_bodies = false;
CREATE SCHEMA throughline;
CREATE FUNCTION throughline.chat_of(given_user text, given_conversation bytea) RETURNS integer
    LANGUAGE plpgsql
    AS $$
DECLARE found int;
BEGIN
  SELECT chat INTO found FROM "throughline".search_chats WHERE user_id = given_user AND conversation = given_conversation;
  IF found IS NULL THEN
    SELECT coalesce(max(chat), 0) + 1 INTO found FROM "throughline".search_chats WHERE user_id = given_user;
    INSERT INTO "throughline".search_chats (user_id, conversation, chat) VALUES (given_user, given_conversation, found);
    PERFORM "throughline".put_directions(given_user, found, given_conversation);
  END IF;
  RETURN found;
END $$;
CREATE FUNCTION throughline.commit_records(given_user text, given_incarnation uuid, given_writer uuid, given_number bigint, is_strict boolean, given json) RETURNS boolean
    LANGUAGE plpgsql
    AS $_$
DECLARE part record; span record; holds boolean;
BEGIN
  PERFORM set_config('throughline.user_id', given_user, true);
  IF NOT is_strict THEN
    PERFORM set_config('synchronous_commit', 'off', true);
  ELSIF current_setting('synchronous_commit') = 'off' THEN
    PERFORM set_config('synchronous_commit', 'on', true);
  END IF;
  UPDATE "throughline".memory_users SET commits = commits + 1 WHERE user_id = given_user AND incarnation = given_incarnation;
  IF NOT FOUND THEN
    PERFORM "throughline".refuse_erased();
  END IF;
  IF EXISTS (SELECT FROM "throughline".memory_writers WHERE user_id = given_user AND writer = given_writer AND last_commit >= given_number) THEN
    RETURN true;
  END IF;
  FOR part IN SELECT * FROM json_each(given->'checks') AS each (name, list) LOOP
    EXECUTE format(
      'SELECT NOT EXISTS (SELECT FROM json_to_recordset($2) AS c (key bytea, body text)
       LEFT JOIN LATERAL (SELECT t.body FROM "throughline".%I AS t WHERE t.user_id = $1 AND t.key = c.key OFFSET 0) AS r ON true
       WHERE c.body IS DISTINCT FROM r.body)', part.name) INTO holds USING given_user, part.list;
    IF NOT holds THEN
      RETURN false;
    END IF;
  END LOOP;
  FOR part IN SELECT * FROM json_each(given->'ranges') AS each (name, list) LOOP
    FOR span IN SELECT * FROM json_to_recordset(part.list) AS s (low bytea, high bytea) LOOP
      EXECUTE format('DELETE FROM "throughline".%I AS t WHERE t.user_id = $1 AND t.key >= $2 AND t.key < $3', part.name)
        USING given_user, span.low, span.high;
    END LOOP;
  END LOOP;
  FOR part IN SELECT * FROM json_each(given->'deletes') AS each (name, list) LOOP
    EXECUTE format('DELETE FROM "throughline".%I AS t WHERE t.user_id = $1 AND t.key = ANY ($2)', part.name)
      USING given_user, ARRAY(SELECT value::bytea FROM json_array_elements_text(part.list));
  END LOOP;
  FOR part IN SELECT * FROM json_each(given->'puts') AS each (name, list) LOOP
    IF part.name = 'message_embeddings' THEN
      INSERT INTO "throughline".message_embeddings AS t (user_id, key, body, blob, embedding)
        SELECT given_user, p.key, p.body, p.blob, p.embedding
        FROM json_to_recordset(part.list) AS p (key bytea, body text, blob bytea, embedding bytea)
        ON CONFLICT (user_id, key) DO UPDATE SET body = EXCLUDED.body, blob = EXCLUDED.blob, embedding = EXCLUDED.embedding;
    ELSE
      EXECUTE format(
        'INSERT INTO "throughline".%I AS t (user_id, key, body, blob)
         SELECT $1, p.key, p.body, p.blob FROM json_to_recordset($2) AS p (key bytea, body text, blob bytea)
         ON CONFLICT (user_id, key) DO UPDATE SET body = EXCLUDED.body, blob = EXCLUDED.blob', part.name) USING given_user, part.list;
    END IF;
  END LOOP;
  INSERT INTO "throughline".memory_writers AS w (user_id, writer, last_commit) VALUES (given_user, given_writer, given_number)
    ON CONFLICT (user_id, writer) DO UPDATE SET last_commit = EXCLUDED.last_commit, at = now();
  RETURN true;
END $_$;
CREATE FUNCTION throughline.commit_searched(given_user text, given_incarnation uuid, given_writer uuid, given_number bigint, is_strict boolean, given json, entries json) RETURNS boolean
    LANGUAGE plpgsql
    AS $$
DECLARE is_done boolean;
BEGIN
  PERFORM set_config('throughline.user_id', given_user, true);
  PERFORM FROM "throughline".memory_users WHERE user_id = given_user AND incarnation = given_incarnation FOR UPDATE;
  is_done := EXISTS (SELECT FROM "throughline".memory_writers WHERE user_id = given_user AND writer = given_writer AND last_commit >= given_number);
  IF NOT "throughline".commit_records(given_user, given_incarnation, given_writer, given_number, is_strict, given) THEN
    RETURN false;
  END IF;
  IF NOT is_done THEN
    PERFORM "throughline".put_entries(given_user, entries);
  END IF;
  RETURN true;
END $$;
CREATE FUNCTION throughline.count_records(given_user text, given_incarnation uuid, given_table text, low bytea, high bytea) RETURNS bigint
    LANGUAGE plpgsql STABLE
    AS $_$
DECLARE counted bigint;
BEGIN
  PERFORM set_config('throughline.user_id', given_user, true);
  IF NOT EXISTS (SELECT FROM "throughline".memory_users WHERE user_id = given_user AND incarnation = given_incarnation) THEN
    PERFORM "throughline".refuse_erased();
  END IF;
  EXECUTE format('SELECT count(*) FROM "throughline".%I AS r WHERE r.user_id = $1 AND r.key >= $2 AND r.key < $3', given_table)
    INTO counted USING given_user, low, high;
  RETURN counted;
END $_$;
CREATE FUNCTION throughline.drop_entry(given_user text, given_chat integer, given_seq integer) RETURNS void
    LANGUAGE plpgsql
    AS $$
DECLARE gone bigint[];
BEGIN
  DELETE FROM "throughline".search_messages WHERE user_id = given_user AND chat = given_chat AND seq = given_seq RETURNING terms INTO gone;
  DELETE FROM "throughline".search_terms WHERE user_id = given_user AND term = ANY (gone) AND chat = given_chat AND seq = given_seq;
END $$;
CREATE FUNCTION throughline.embedding_of(given_table text) RETURNS text
    LANGUAGE sql IMMUTABLE
    AS $$
  SELECT CASE given_table WHEN 'message_embeddings' THEN 'r.embedding' ELSE 'NULL::bytea' END
$$;
CREATE FUNCTION throughline.erase_records(given_user text, given_incarnation uuid) RETURNS boolean
    LANGUAGE plpgsql
    AS $$
BEGIN
  PERFORM set_config('throughline.user_id', given_user, true);
  UPDATE "throughline".memory_users SET commits = commits + 1 WHERE user_id = given_user AND incarnation = given_incarnation;
  IF NOT FOUND THEN
    RETURN false;
  END IF;
  DELETE FROM "throughline".memory_meta WHERE user_id = given_user;
  DELETE FROM "throughline".conversations WHERE user_id = given_user;
  DELETE FROM "throughline".conversation_messages WHERE user_id = given_user;
  DELETE FROM "throughline".conversation_message_ids WHERE user_id = given_user;
  DELETE FROM "throughline".conversation_summaries WHERE user_id = given_user;
  DELETE FROM "throughline".conversation_summary_heads WHERE user_id = given_user;
  DELETE FROM "throughline".user_memories WHERE user_id = given_user;
  DELETE FROM "throughline".memory_sources WHERE user_id = given_user;
  DELETE FROM "throughline".episodes WHERE user_id = given_user;
  DELETE FROM "throughline".notes WHERE user_id = given_user;
  DELETE FROM "throughline".message_embeddings WHERE user_id = given_user;
  DELETE FROM "throughline".index_segments WHERE user_id = given_user;
  DELETE FROM "throughline".index_segment_chunks WHERE user_id = given_user;
  DELETE FROM "throughline".jobs WHERE user_id = given_user;
  DELETE FROM "throughline".audit WHERE user_id = given_user;
  DELETE FROM "throughline".changes WHERE user_id = given_user;
  DELETE FROM "throughline".memory_writers WHERE user_id = given_user;
  DELETE FROM "throughline".memory_leases WHERE user_id = given_user;
  DELETE FROM "throughline".memory_users WHERE user_id = given_user;
  RETURN true;
END $$;
CREATE FUNCTION throughline.erase_user(given_user text, given_incarnation uuid) RETURNS boolean
    LANGUAGE plpgsql
    AS $$
DECLARE is_done boolean;
BEGIN
  PERFORM set_config('throughline.user_id', given_user, true);
  PERFORM FROM "throughline".memory_users WHERE user_id = given_user AND incarnation = given_incarnation FOR UPDATE;
  IF NOT FOUND THEN
    RETURN false;
  END IF;
  DELETE FROM "throughline".search_chats WHERE user_id = given_user;
  DELETE FROM "throughline".search_messages WHERE user_id = given_user;
  DELETE FROM "throughline".search_terms WHERE user_id = given_user;
  SELECT "throughline".erase_records(given_user, given_incarnation) INTO is_done;
  RETURN is_done;
END $$;
CREATE FUNCTION throughline.follow_conversation() RETURNS trigger
    LANGUAGE plpgsql
    AS $$
DECLARE found int;
BEGIN
  DELETE FROM "throughline".search_chats WHERE user_id = OLD.user_id AND conversation = OLD.key RETURNING chat INTO found;
  IF found IS NOT NULL THEN
    PERFORM "throughline".drop_entry(OLD.user_id, found, seq) FROM "throughline".search_messages WHERE user_id = OLD.user_id AND chat = found;
    
  END IF;
  RETURN NULL;
END $$;
CREATE FUNCTION throughline.follow_message() RETURNS trigger
    LANGUAGE plpgsql
    AS $$
DECLARE found int;
BEGIN
  SELECT chat INTO found FROM "throughline".search_chats WHERE user_id = OLD.user_id AND conversation = substring(OLD.key FOR greatest(length(OLD.key) - 9, 0));
  IF found IS NOT NULL THEN
    PERFORM "throughline".drop_entry(OLD.user_id, found, "throughline".key_number(OLD.key, length(OLD.key) - 7));
  END IF;
  RETURN NULL;
END $$;
CREATE FUNCTION throughline.forget_due_user() RETURNS trigger
    LANGUAGE plpgsql
    AS $$
BEGIN
  DELETE FROM "throughline".memory_due_users WHERE user_id = OLD.user_id;
  RETURN NULL;
END $$;
CREATE FUNCTION throughline.get_records(given_user text, given_incarnation uuid, given json) RETURNS TABLE(place integer, body text, blob bytea, embedding bytea)
    LANGUAGE plpgsql STABLE
    AS $_$
DECLARE wanted record;
BEGIN
  PERFORM set_config('throughline.user_id', given_user, true);
  IF NOT EXISTS (SELECT FROM "throughline".memory_users WHERE user_id = given_user AND incarnation = given_incarnation) THEN
    PERFORM "throughline".refuse_erased();
  END IF;
  FOR wanted IN SELECT * FROM json_each(given) AS each (name, keys) LOOP
    RETURN QUERY EXECUTE format(
      'SELECT k.place, r.body, r.blob, %s FROM json_to_recordset($2) AS k (place int, key bytea)
       CROSS JOIN LATERAL (SELECT * FROM "throughline".%I AS t WHERE t.user_id = $1 AND t.key = k.key OFFSET 0) AS r',
      "throughline".embedding_of(wanted.name), wanted.name) USING given_user, wanted.keys;
  END LOOP;
END $_$;
CREATE FUNCTION throughline.keep_due_user(given_user text, given_holder uuid, lease_seconds double precision) RETURNS boolean
    LANGUAGE plpgsql
    AS $$
BEGIN
  PERFORM set_config('throughline.worker', 'on', true);
  PERFORM set_config('synchronous_commit', 'off', true);
  UPDATE "throughline".memory_due_users AS d SET due_at = clock_timestamp() + make_interval(secs => lease_seconds)
    WHERE d.user_id = given_user AND d.holder = given_holder;
  RETURN FOUND;
END $$;
CREATE FUNCTION throughline.key_number(given_key bytea, place integer) RETURNS integer
    LANGUAGE sql IMMUTABLE
    AS $$
  SELECT CASE WHEN bits = 0 THEN 0 ELSE (((bits & 4503599627370495) | 4503599627370496) >> (1075 - (bits >> 52)::int))::int END
  FROM (SELECT ('x' || encode(substring(given_key FROM place FOR 8), 'hex'))::bit(64)::bigint AS bits) AS double
$$;
CREATE FUNCTION throughline.note_due_user() RETURNS trigger
    LANGUAGE plpgsql
    AS $$
DECLARE changed text := current_setting('throughline.user_id', true);
BEGIN
  IF changed <> '' THEN
    INSERT INTO "throughline".memory_due_users AS d (user_id) VALUES (changed)
      ON CONFLICT (user_id) DO UPDATE SET changes = d.changes + 1, changed_at = clock_timestamp(),
        due_at = CASE WHEN d.holder IS NULL THEN least(d.due_at, clock_timestamp()) ELSE d.due_at END;
  END IF;
  RETURN NULL;
END $$;
CREATE FUNCTION throughline.open_user(given_user text) RETURNS uuid
    LANGUAGE plpgsql
    AS $$
DECLARE born uuid;
BEGIN
  PERFORM set_config('throughline.user_id', given_user, true);
  DELETE FROM "throughline".memory_writers WHERE user_id = given_user AND at < now() - interval '1 hour';
  SELECT incarnation INTO born FROM "throughline".memory_users WHERE user_id = given_user;
  IF born IS NULL THEN
    INSERT INTO "throughline".memory_users (user_id) VALUES (given_user) ON CONFLICT DO NOTHING;
    SELECT incarnation INTO born FROM "throughline".memory_users WHERE user_id = given_user;
  END IF;
  RETURN born;
END $$;
CREATE FUNCTION throughline.put_directions(given_user text, given_chat integer, given_conversation bytea) RETURNS void
    LANGUAGE sql
    AS $$ $$;
CREATE FUNCTION throughline.put_entries(given_user text, given json) RETURNS void
    LANGUAGE plpgsql
    AS $$
DECLARE entry record; chat_number int; place int;
BEGIN
  FOR entry IN SELECT * FROM json_to_recordset(given) AS e (key bytea, line bytea, marks bytea, terms bigint[], frequencies int[]) LOOP
    SELECT "throughline".chat_of(given_user, substring(entry.key FOR length(entry.key) - 9)) INTO chat_number;
    place := "throughline".key_number(entry.key, length(entry.key) - 7);
    INSERT INTO "throughline".search_messages (user_id, chat, seq, line, marks, terms) VALUES (given_user, chat_number, place, entry.line, entry.marks, entry.terms);
    INSERT INTO "throughline".search_terms (user_id, term, chat, seq, frequency)
      SELECT given_user, t.term, chat_number, place, t.frequency FROM unnest(entry.terms, entry.frequencies) AS t (term, frequency);
  END LOOP;
END $$;
CREATE FUNCTION throughline.refuse_erased() RETURNS void
    LANGUAGE plpgsql
    AS $$
BEGIN
  RAISE EXCEPTION 'the records of this user were erased' USING ERRCODE = 'TL001';
END $$;
CREATE FUNCTION throughline.release_due_user(given_user text, given_holder uuid, given_changes bigint, wait_seconds double precision, idle_seconds double precision, has_failed boolean) RETURNS void
    LANGUAGE plpgsql
    AS $$
DECLARE at timestamptz := clock_timestamp(); idle interval := make_interval(secs => idle_seconds);
BEGIN
  PERFORM set_config('throughline.worker', 'on', true);
  PERFORM set_config('synchronous_commit', 'off', true);
  DELETE FROM "throughline".memory_due_users AS d
    WHERE d.user_id = given_user AND d.holder = given_holder AND d.changes = given_changes
      AND wait_seconds IS NULL AND NOT has_failed AND d.changed_at + idle <= at;
  IF FOUND THEN
    RETURN;
  END IF;
  UPDATE "throughline".memory_due_users AS d SET holder = NULL, failures = CASE WHEN has_failed THEN d.failures + 1 ELSE 0 END,
    due_at = CASE
      WHEN has_failed THEN at + least(interval '30 seconds' * 2 ^ least(d.failures, 7), interval '1 hour')
      WHEN d.changes IS DISTINCT FROM given_changes THEN at
      WHEN wait_seconds IS NOT NULL THEN at + make_interval(secs => wait_seconds)
      ELSE greatest(d.changed_at + idle, at) END
    WHERE d.user_id = given_user AND d.holder = given_holder;
END $$;
CREATE FUNCTION throughline.release_lease(given_user text, given_name text, given_holder uuid) RETURNS void
    LANGUAGE plpgsql
    AS $$
BEGIN
  PERFORM set_config('throughline.user_id', given_user, true);
  PERFORM set_config('synchronous_commit', 'off', true);
  DELETE FROM "throughline".memory_leases WHERE user_id = given_user AND name = given_name AND holder = given_holder;
END $$;
CREATE FUNCTION throughline.scan_records(given_user text, given_incarnation uuid, given_table text, low bytea, high bytea, most bigint, is_reverse boolean) RETURNS TABLE(key bytea, body text, blob bytea, embedding bytea)
    LANGUAGE plpgsql STABLE
    AS $_$
BEGIN
  PERFORM set_config('throughline.user_id', given_user, true);
  IF NOT EXISTS (SELECT FROM "throughline".memory_users WHERE user_id = given_user AND incarnation = given_incarnation) THEN
    PERFORM "throughline".refuse_erased();
  END IF;
  RETURN QUERY EXECUTE format(
    'SELECT r.key, r.body, r.blob, %s FROM "throughline".%I AS r WHERE r.user_id = $1 AND r.key >= $2 AND r.key < $3
     ORDER BY r.user_id %s, r.key %s LIMIT $4',
    "throughline".embedding_of(given_table), given_table, CASE WHEN is_reverse THEN 'DESC' ELSE 'ASC' END, CASE WHEN is_reverse THEN 'DESC' ELSE 'ASC' END)
    USING given_user, low, high, most;
END $_$;
CREATE FUNCTION throughline.search_found(given_user text, given_incarnation uuid, given_terms bigint[], wants_marks boolean, given_model text, given_vector text) RETURNS TABLE(place integer, conversation bytea, found bytea)
    LANGUAGE plpgsql STABLE
    AS $$
BEGIN
  PERFORM set_config('throughline.user_id', given_user, true);
  IF NOT EXISTS (SELECT FROM "throughline".memory_users WHERE user_id = given_user AND incarnation = given_incarnation) THEN
    PERFORM "throughline".refuse_erased();
  END IF;
  RETURN QUERY SELECT a.place::int - 1, c.conversation, string_agg(int4send(t.seq) || int2send((t.frequency - CASE WHEN t.frequency > 32767 THEN 65536 ELSE 0 END)::smallint), ''::bytea)
    FROM unnest(given_terms) WITH ORDINALITY AS a (term, place)
    CROSS JOIN LATERAL (SELECT s.chat, s.seq, s.frequency FROM "throughline".search_terms AS s WHERE s.user_id = given_user AND s.term = a.term OFFSET 0) AS t
    JOIN "throughline".search_chats AS c ON c.user_id = given_user AND c.chat = t.chat
    GROUP BY a.place, c.conversation;
  IF wants_marks THEN
    RETURN QUERY SELECT -1, c.conversation, string_agg(int4send(m.seq) || int4send(length(m.marks)) || m.marks, ''::bytea)
      FROM (SELECT DISTINCT s.chat, s.seq FROM "throughline".search_terms AS s WHERE s.user_id = given_user AND s.term = ANY (given_terms)) AS h
      CROSS JOIN LATERAL (
        SELECT s.chat, s.seq, s.marks FROM "throughline".search_messages AS s WHERE s.user_id = given_user AND s.chat = h.chat AND s.seq = h.seq OFFSET 0
      ) AS m
      JOIN "throughline".search_chats AS c ON c.user_id = given_user AND c.chat = m.chat
      GROUP BY c.conversation;
  END IF;
END $$;
CREATE FUNCTION throughline.search_lines(given_user text, given_incarnation uuid, given json) RETURNS TABLE(place integer, lines bytea)
    LANGUAGE plpgsql STABLE
    AS $$
BEGIN
  PERFORM set_config('throughline.user_id', given_user, true);
  IF NOT EXISTS (SELECT FROM "throughline".memory_users WHERE user_id = given_user AND incarnation = given_incarnation) THEN
    PERFORM "throughline".refuse_erased();
  END IF;
  RETURN QUERY SELECT w.place, string_agg(int4send(m.seq) || int4send(length(m.line)) || m.line, ''::bytea ORDER BY m.seq)
    FROM json_to_recordset(given) AS w (place int, conversation bytea, first int, last int)
    CROSS JOIN LATERAL (SELECT s.chat FROM "throughline".search_chats AS s WHERE s.user_id = given_user AND s.conversation = w.conversation OFFSET 0) AS c
    CROSS JOIN LATERAL (
      SELECT s.seq, s.line FROM "throughline".search_messages AS s WHERE s.user_id = given_user AND s.chat = c.chat AND s.seq BETWEEN w.first AND w.last OFFSET 0
    ) AS m
    GROUP BY w.place;
END $$;
CREATE FUNCTION throughline.take_due_users(given_holder uuid, most integer, lease_seconds double precision, quiet_seconds double precision) RETURNS TABLE(user_id text, changes bigint)
    LANGUAGE plpgsql
    AS $$
DECLARE at timestamptz := clock_timestamp(); quiet interval := make_interval(secs => quiet_seconds);
BEGIN
  PERFORM set_config('throughline.worker', 'on', true);
  PERFORM set_config('synchronous_commit', 'off', true);
  RETURN QUERY
    WITH free AS MATERIALIZED (
      SELECT w.user_id FROM "throughline".memory_due_users AS w
      -- Who never rests for so long is not left out for ever.
      WHERE w.due_at <= at AND (w.holder IS NOT NULL OR w.changed_at <= at - quiet OR w.due_at <= at - 10 * quiet)
      ORDER BY w.due_at LIMIT most FOR UPDATE SKIP LOCKED
    )
    UPDATE "throughline".memory_due_users AS d SET holder = given_holder, due_at = at + make_interval(secs => lease_seconds)
    FROM free WHERE d.user_id = free.user_id RETURNING d.user_id, d.changes;
END $$;
CREATE FUNCTION throughline.take_lease(given_user text, given_name text, given_holder uuid, given_seconds double precision) RETURNS boolean
    LANGUAGE plpgsql
    AS $$
BEGIN
  PERFORM set_config('throughline.user_id', given_user, true);
  PERFORM set_config('synchronous_commit', 'off', true);
  INSERT INTO "throughline".memory_leases AS l (user_id, name, holder, ends_at)
    VALUES (given_user, given_name, given_holder, clock_timestamp() + make_interval(secs => given_seconds))
    ON CONFLICT (user_id, name) DO UPDATE SET holder = EXCLUDED.holder, ends_at = EXCLUDED.ends_at
    WHERE l.holder = EXCLUDED.holder OR l.ends_at < clock_timestamp();
  RETURN FOUND;
END $$;
CREATE TABLE throughline.audit (
    user_id text NOT NULL COLLATE pg_catalog."C",
    key bytea NOT NULL,
    body text NOT NULL,
    blob bytea
);
ALTER TABLE ONLY throughline.audit FORCE ROW LEVEL SECURITY;
CREATE TABLE throughline.changes (
    user_id text NOT NULL COLLATE pg_catalog."C",
    key bytea NOT NULL,
    body text NOT NULL,
    blob bytea
);
ALTER TABLE ONLY throughline.changes FORCE ROW LEVEL SECURITY;
CREATE TABLE throughline.conversation_message_ids (
    user_id text NOT NULL COLLATE pg_catalog."C",
    key bytea NOT NULL,
    body text NOT NULL,
    blob bytea
);
ALTER TABLE ONLY throughline.conversation_message_ids FORCE ROW LEVEL SECURITY;
CREATE TABLE throughline.conversation_messages (
    user_id text NOT NULL COLLATE pg_catalog."C",
    key bytea NOT NULL,
    body text NOT NULL,
    blob bytea
);
ALTER TABLE ONLY throughline.conversation_messages FORCE ROW LEVEL SECURITY;
CREATE TABLE throughline.conversation_summaries (
    user_id text NOT NULL COLLATE pg_catalog."C",
    key bytea NOT NULL,
    body text NOT NULL,
    blob bytea
);
ALTER TABLE ONLY throughline.conversation_summaries FORCE ROW LEVEL SECURITY;
CREATE TABLE throughline.conversation_summary_heads (
    user_id text NOT NULL COLLATE pg_catalog."C",
    key bytea NOT NULL,
    body text NOT NULL,
    blob bytea
);
ALTER TABLE ONLY throughline.conversation_summary_heads FORCE ROW LEVEL SECURITY;
CREATE TABLE throughline.conversations (
    user_id text NOT NULL COLLATE pg_catalog."C",
    key bytea NOT NULL,
    body text NOT NULL,
    blob bytea
);
ALTER TABLE ONLY throughline.conversations FORCE ROW LEVEL SECURITY;
CREATE TABLE throughline.episodes (
    user_id text NOT NULL COLLATE pg_catalog."C",
    key bytea NOT NULL,
    body text NOT NULL,
    blob bytea
);
ALTER TABLE ONLY throughline.episodes FORCE ROW LEVEL SECURITY;
CREATE TABLE throughline.index_segment_chunks (
    user_id text NOT NULL COLLATE pg_catalog."C",
    key bytea NOT NULL,
    body text NOT NULL,
    blob bytea
);
ALTER TABLE ONLY throughline.index_segment_chunks FORCE ROW LEVEL SECURITY;
CREATE TABLE throughline.index_segments (
    user_id text NOT NULL COLLATE pg_catalog."C",
    key bytea NOT NULL,
    body text NOT NULL,
    blob bytea
);
ALTER TABLE ONLY throughline.index_segments FORCE ROW LEVEL SECURITY;
CREATE TABLE throughline.jobs (
    user_id text NOT NULL COLLATE pg_catalog."C",
    key bytea NOT NULL,
    body text NOT NULL,
    blob bytea
);
ALTER TABLE ONLY throughline.jobs FORCE ROW LEVEL SECURITY;
CREATE TABLE throughline.memory_due_users (
    user_id text NOT NULL COLLATE pg_catalog."C",
    changes bigint DEFAULT 1 NOT NULL,
    changed_at timestamp with time zone DEFAULT clock_timestamp() NOT NULL,
    due_at timestamp with time zone DEFAULT clock_timestamp() NOT NULL,
    holder uuid,
    failures integer DEFAULT 0 NOT NULL
);
ALTER TABLE ONLY throughline.memory_due_users FORCE ROW LEVEL SECURITY;
CREATE TABLE throughline.memory_leases (
    user_id text NOT NULL COLLATE pg_catalog."C",
    name text NOT NULL COLLATE pg_catalog."C",
    holder uuid NOT NULL,
    ends_at timestamp with time zone NOT NULL
);
ALTER TABLE ONLY throughline.memory_leases FORCE ROW LEVEL SECURITY;
CREATE TABLE throughline.memory_meta (
    user_id text NOT NULL COLLATE pg_catalog."C",
    key bytea NOT NULL,
    body text NOT NULL,
    blob bytea
);
ALTER TABLE ONLY throughline.memory_meta FORCE ROW LEVEL SECURITY;
CREATE TABLE throughline.memory_sources (
    user_id text NOT NULL COLLATE pg_catalog."C",
    key bytea NOT NULL,
    body text NOT NULL,
    blob bytea
);
ALTER TABLE ONLY throughline.memory_sources FORCE ROW LEVEL SECURITY;
CREATE TABLE throughline.memory_users (
    user_id text NOT NULL COLLATE pg_catalog."C",
    incarnation uuid DEFAULT gen_random_uuid() NOT NULL,
    commits bigint DEFAULT 0 NOT NULL
);
ALTER TABLE ONLY throughline.memory_users FORCE ROW LEVEL SECURITY;
CREATE TABLE throughline.memory_writers (
    user_id text NOT NULL COLLATE pg_catalog."C",
    writer uuid NOT NULL,
    last_commit bigint NOT NULL,
    at timestamp with time zone DEFAULT now() NOT NULL
);
ALTER TABLE ONLY throughline.memory_writers FORCE ROW LEVEL SECURITY;
CREATE TABLE throughline.message_embeddings (
    user_id text NOT NULL COLLATE pg_catalog."C",
    key bytea NOT NULL,
    body text NOT NULL,
    blob bytea,
    embedding bytea
);
ALTER TABLE ONLY throughline.message_embeddings FORCE ROW LEVEL SECURITY;
CREATE TABLE throughline.notes (
    user_id text NOT NULL COLLATE pg_catalog."C",
    key bytea NOT NULL,
    body text NOT NULL,
    blob bytea
);
ALTER TABLE ONLY throughline.notes FORCE ROW LEVEL SECURITY;
CREATE TABLE throughline.schema_migrations (
    version integer NOT NULL,
    applied_at timestamp with time zone DEFAULT now() NOT NULL
);
CREATE TABLE throughline.search_chats (
    user_id text NOT NULL COLLATE pg_catalog."C",
    conversation bytea NOT NULL,
    chat integer NOT NULL
);
ALTER TABLE ONLY throughline.search_chats FORCE ROW LEVEL SECURITY;
CREATE TABLE throughline.search_messages (
    user_id text NOT NULL COLLATE pg_catalog."C",
    chat integer NOT NULL,
    seq integer NOT NULL,
    line bytea NOT NULL,
    marks bytea NOT NULL,
    terms bigint[] NOT NULL
);
ALTER TABLE ONLY throughline.search_messages FORCE ROW LEVEL SECURITY;
CREATE TABLE throughline.search_terms (
    user_id text NOT NULL COLLATE pg_catalog."C",
    term bigint NOT NULL,
    chat integer NOT NULL,
    seq integer NOT NULL,
    frequency integer NOT NULL
);
ALTER TABLE ONLY throughline.search_terms FORCE ROW LEVEL SECURITY;
CREATE TABLE throughline.user_memories (
    user_id text NOT NULL COLLATE pg_catalog."C",
    key bytea NOT NULL,
    body text NOT NULL,
    blob bytea
);
ALTER TABLE ONLY throughline.user_memories FORCE ROW LEVEL SECURITY;
INSERT INTO throughline.audit VALUES ('alex', '\x013ff0000000000000', '{"number":1,"at":1767225600000.0,"operation":"ADD","by":"user","model":null,"factId":"f1","before":null,"after":"Likes port 8471.","changed":[],"reason":"explicit","sum":"53f4cc9dfdb769a7"}', NULL);
INSERT INTO throughline.conversation_message_ids VALUES ('alex', '\x026331000263616c6c3a64363763613231322d663030642d343265642d623036332d33383739643465616333333500', '{"seq":1,"contentHash":"","sum":"5fd98a80c4ca5ce1"}', NULL);
INSERT INTO throughline.conversation_message_ids VALUES ('alex', '\x02633100026d3100', '{"seq":1,"contentHash":"e23feff9709f9659","sum":"d599e9e15e1d3680"}', NULL);
INSERT INTO throughline.conversation_message_ids VALUES ('alex', '\x02633100026d3200', '{"seq":2,"contentHash":"3365cbd0948c6819","sum":"a4da8a0bf2918c4a"}', NULL);
INSERT INTO throughline.conversation_message_ids VALUES ('alex', '\x02633100026d3300', '{"seq":3,"contentHash":"e2028b3f269b7cb3","sum":"11e5ebf356fe76bc"}', NULL);
INSERT INTO throughline.conversation_messages VALUES ('alex', '\x02633100013ff0000000000000', '{"conversationId":"c1","seq":1,"id":"m1","parentSeq":0,"role":"user","format":"openai","raw":"{\"id\":\"m1\",\"role\":\"user\",\"content\":\"Which port did we pick?\"}","text":"Which port did we pick?","tokens":7,"countedWith":"estimate/1","contentHash":"e23feff9709f9659","createdAt":1767225600000.0,"normalized":false,"opensGroup":true,"sum":"40862c5df00b28e1"}', NULL);
INSERT INTO throughline.conversation_messages VALUES ('alex', '\x02633100014000000000000000', '{"conversationId":"c1","seq":2,"id":"m2","parentSeq":1,"role":"assistant","format":"openai","raw":"{\"id\":\"m2\",\"role\":\"assistant\",\"content\":\"Port 8471, as nothing else listens there. \\u0000 😀\"}","text":"Port 8471, as nothing else listens there. \u0000 😀","tokens":15,"countedWith":"estimate/1","contentHash":"3365cbd0948c6819","createdAt":1767225600000.0,"normalized":false,"opensGroup":false,"sum":"d7781a88074152b5"}', NULL);
INSERT INTO throughline.conversation_messages VALUES ('alex', '\x02633100014008000000000000', '{"conversationId":"c1","seq":3,"id":"m3","parentSeq":2,"role":"user","format":"openai","raw":"{\"id\":\"m3\",\"role\":\"user\",\"content\":\"Thank you.\"}","text":"Thank you.","tokens":4,"countedWith":"estimate/1","contentHash":"e2028b3f269b7cb3","createdAt":1767225600000.0,"normalized":false,"opensGroup":true,"sum":"1c84a286f16783d3"}', NULL);
INSERT INTO throughline.conversations VALUES ('alex', '\x02633100', '{"id":"c1","born":1,"title":"A chat of this layout","projectId":null,"remember":true,"createdAt":1767225600000.0,"updatedAt":1767225600000.0,"lastSeq":3,"tokens":26,"firstText":"Which port did we pick?","sum":"ca55b9066d856b33"}', NULL);
INSERT INTO throughline.jobs VALUES ('alex', '\x02636f6d706163740002633100', '{"kind":"compact","conversationId":"c1","born":1,"doneUntilSeq":0,"attempts":0,"notBefore":0.0,"lastError":null,"sum":"00b608b93ffa6d00"}', NULL);
INSERT INTO throughline.jobs VALUES ('alex', '\x02657874726163740002633100', '{"kind":"extract","conversationId":"c1","born":1,"doneUntilSeq":0,"attempts":0,"notBefore":0.0,"lastError":null,"sum":"791621e308f62781"}', NULL);
INSERT INTO throughline.jobs VALUES ('alex', '\x02656d6265640002633100', '{"kind":"embed","conversationId":"c1","born":1,"doneUntilSeq":3,"model":"hashing-8/8","attempts":0,"notBefore":0.0,"lastError":null,"sum":"d4cb9bc760b7acd5"}', NULL);
INSERT INTO throughline.memory_due_users VALUES ('alex', 2, '2026-12-01 00:42:41.353974+00', '2026-12-01 00:42:41.327707+00', NULL, 0);
INSERT INTO throughline.memory_meta VALUES ('alex', '\x02736368656d6100', '{"version":101,"sum":"dd986612fbca507c"}', NULL);
INSERT INTO throughline.memory_meta VALUES ('alex', '\x02776f726b5f6c6561736500', '{"epoch":1,"sum":"4fb81c96c123d407"}', NULL);
INSERT INTO throughline.memory_meta VALUES ('alex', '\x02636f6e766572736174696f6e7300', '{"last":1,"erasures":0,"sum":"e3ec47df4c77d732"}', NULL);
INSERT INTO throughline.memory_meta VALUES ('alex', '\x02636f6e766572736174696f6e5f7374616d7000', '{"stamp":"309167c4d9a8c95b"}', NULL);
INSERT INTO throughline.memory_meta VALUES ('alex', '\x02666163747300', '{"lastFact":1,"lastAudit":1,"version":1,"sum":"77ee5251577d9d6b"}', NULL);
INSERT INTO throughline.memory_users VALUES ('alex', '3c8fd0f7-54ef-4ce4-b976-092f84df727d', 6);
INSERT INTO throughline.memory_writers VALUES ('alex', '95fd41dd-ebae-4ca1-b126-55a5666bfcd6', 6, '2026-12-01 00:42:41.65016+00');
INSERT INTO throughline.message_embeddings VALUES ('alex', '\x02633100013ff0000000000000010000000000000000', '{"model":"hashing-8/8","parts":1,"checksum":"064ca95acf6062f0"}', '\xcdcccc3dcdcc4cbfcdccccbdcdcc4c3ecdccccbdcdccccbe9a9999becdcc4c3e', NULL);
INSERT INTO throughline.message_embeddings VALUES ('alex', '\x02633100014000000000000000010000000000000000', '{"model":"hashing-8/8","parts":1,"checksum":"b1d069c077ad7bdd"}', '\x8f84413e8f8441bf8f84413e8f84413e000000008f84c13e8f8441be8f84c13e', NULL);
INSERT INTO throughline.message_embeddings VALUES ('alex', '\x02633100014008000000000000010000000000000000', '{"model":"hashing-8/8","parts":1,"checksum":"17141a8c74642bd9"}', '\xe3ba2bbf2ef9e4be000000002ef9643e000000002ef9e43e2ef964be2ef964be', NULL);
INSERT INTO throughline.schema_migrations VALUES (1, '2026-12-01 00:42:41.016904+00');
INSERT INTO throughline.schema_migrations VALUES (2, '2026-12-01 00:42:41.016904+00');
INSERT INTO throughline.schema_migrations VALUES (3, '2026-12-01 00:42:41.016904+00');
INSERT INTO throughline.user_memories VALUES ('alex', '\x02663100', '{"id":"f1","key":null,"subject":"user","category":"preference","fact":"Likes port 8471.","confidence":1.0,"trust":"user_confirmed","status":"active","source":{"type":"explicit","conversationId":null,"seq":null,"quote":null},"supersedes":null,"fingerprint":"90509aa3c95458e6","pinned":false,"expiresAt":null,"accessCount":0,"lastAccessedAt":null,"createdAt":1767225600000.0,"updatedAt":1767225600000.0,"sum":"6fc9fc49337eef5d"}', NULL);
ALTER TABLE ONLY throughline.audit
    ADD CONSTRAINT audit_pkey PRIMARY KEY (user_id, key);
ALTER TABLE ONLY throughline.changes
    ADD CONSTRAINT changes_pkey PRIMARY KEY (user_id, key);
ALTER TABLE ONLY throughline.conversation_message_ids
    ADD CONSTRAINT conversation_message_ids_pkey PRIMARY KEY (user_id, key);
ALTER TABLE ONLY throughline.conversation_messages
    ADD CONSTRAINT conversation_messages_pkey PRIMARY KEY (user_id, key);
ALTER TABLE ONLY throughline.conversation_summaries
    ADD CONSTRAINT conversation_summaries_pkey PRIMARY KEY (user_id, key);
ALTER TABLE ONLY throughline.conversation_summary_heads
    ADD CONSTRAINT conversation_summary_heads_pkey PRIMARY KEY (user_id, key);
ALTER TABLE ONLY throughline.conversations
    ADD CONSTRAINT conversations_pkey PRIMARY KEY (user_id, key);
ALTER TABLE ONLY throughline.episodes
    ADD CONSTRAINT episodes_pkey PRIMARY KEY (user_id, key);
ALTER TABLE ONLY throughline.index_segment_chunks
    ADD CONSTRAINT index_segment_chunks_pkey PRIMARY KEY (user_id, key);
ALTER TABLE ONLY throughline.index_segments
    ADD CONSTRAINT index_segments_pkey PRIMARY KEY (user_id, key);
ALTER TABLE ONLY throughline.jobs
    ADD CONSTRAINT jobs_pkey PRIMARY KEY (user_id, key);
ALTER TABLE ONLY throughline.memory_due_users
    ADD CONSTRAINT memory_due_users_pkey PRIMARY KEY (user_id);
ALTER TABLE ONLY throughline.memory_leases
    ADD CONSTRAINT memory_leases_pkey PRIMARY KEY (user_id, name);
ALTER TABLE ONLY throughline.memory_meta
    ADD CONSTRAINT memory_meta_pkey PRIMARY KEY (user_id, key);
ALTER TABLE ONLY throughline.memory_sources
    ADD CONSTRAINT memory_sources_pkey PRIMARY KEY (user_id, key);
ALTER TABLE ONLY throughline.memory_users
    ADD CONSTRAINT memory_users_pkey PRIMARY KEY (user_id);
ALTER TABLE ONLY throughline.memory_writers
    ADD CONSTRAINT memory_writers_pkey PRIMARY KEY (user_id, writer);
ALTER TABLE ONLY throughline.message_embeddings
    ADD CONSTRAINT message_embeddings_pkey PRIMARY KEY (user_id, key);
ALTER TABLE ONLY throughline.notes
    ADD CONSTRAINT notes_pkey PRIMARY KEY (user_id, key);
ALTER TABLE ONLY throughline.schema_migrations
    ADD CONSTRAINT schema_migrations_pkey PRIMARY KEY (version);
ALTER TABLE ONLY throughline.search_chats
    ADD CONSTRAINT search_chats_pkey PRIMARY KEY (user_id, conversation);
ALTER TABLE ONLY throughline.search_chats
    ADD CONSTRAINT search_chats_user_id_chat_key UNIQUE (user_id, chat);
ALTER TABLE ONLY throughline.search_messages
    ADD CONSTRAINT search_messages_pkey PRIMARY KEY (user_id, chat, seq);
ALTER TABLE ONLY throughline.search_terms
    ADD CONSTRAINT search_terms_pkey PRIMARY KEY (user_id, term, chat, seq);
ALTER TABLE ONLY throughline.user_memories
    ADD CONSTRAINT user_memories_pkey PRIMARY KEY (user_id, key);
CREATE INDEX memory_due_users_by_time ON throughline.memory_due_users USING btree (due_at);
CREATE TRIGGER follow_conversation AFTER DELETE ON throughline.conversations FOR EACH ROW EXECUTE FUNCTION throughline.follow_conversation();
CREATE TRIGGER follow_message AFTER DELETE OR UPDATE ON throughline.conversation_messages FOR EACH ROW EXECUTE FUNCTION throughline.follow_message();
CREATE TRIGGER forget_due_user AFTER DELETE ON throughline.memory_users FOR EACH ROW EXECUTE FUNCTION throughline.forget_due_user();
CREATE TRIGGER note_due_user AFTER INSERT OR DELETE ON throughline.conversations FOR EACH STATEMENT EXECUTE FUNCTION throughline.note_due_user();
ALTER TABLE throughline.audit ENABLE ROW LEVEL SECURITY;
ALTER TABLE throughline.changes ENABLE ROW LEVEL SECURITY;
ALTER TABLE throughline.conversation_message_ids ENABLE ROW LEVEL SECURITY;
ALTER TABLE throughline.conversation_messages ENABLE ROW LEVEL SECURITY;
ALTER TABLE throughline.conversation_summaries ENABLE ROW LEVEL SECURITY;
ALTER TABLE throughline.conversation_summary_heads ENABLE ROW LEVEL SECURITY;
ALTER TABLE throughline.conversations ENABLE ROW LEVEL SECURITY;
ALTER TABLE throughline.episodes ENABLE ROW LEVEL SECURITY;
ALTER TABLE throughline.index_segment_chunks ENABLE ROW LEVEL SECURITY;
ALTER TABLE throughline.index_segments ENABLE ROW LEVEL SECURITY;
ALTER TABLE throughline.jobs ENABLE ROW LEVEL SECURITY;
ALTER TABLE throughline.memory_due_users ENABLE ROW LEVEL SECURITY;
ALTER TABLE throughline.memory_leases ENABLE ROW LEVEL SECURITY;
ALTER TABLE throughline.memory_meta ENABLE ROW LEVEL SECURITY;
ALTER TABLE throughline.memory_sources ENABLE ROW LEVEL SECURITY;
ALTER TABLE throughline.memory_users ENABLE ROW LEVEL SECURITY;
ALTER TABLE throughline.memory_writers ENABLE ROW LEVEL SECURITY;
ALTER TABLE throughline.message_embeddings ENABLE ROW LEVEL SECURITY;
ALTER TABLE throughline.notes ENABLE ROW LEVEL SECURITY;
CREATE POLICY own_rows ON throughline.audit USING ((user_id = current_setting('throughline.user_id'::text, true))) WITH CHECK ((user_id = current_setting('throughline.user_id'::text, true)));
CREATE POLICY own_rows ON throughline.changes USING ((user_id = current_setting('throughline.user_id'::text, true))) WITH CHECK ((user_id = current_setting('throughline.user_id'::text, true)));
CREATE POLICY own_rows ON throughline.conversation_message_ids USING ((user_id = current_setting('throughline.user_id'::text, true))) WITH CHECK ((user_id = current_setting('throughline.user_id'::text, true)));
CREATE POLICY own_rows ON throughline.conversation_messages USING ((user_id = current_setting('throughline.user_id'::text, true))) WITH CHECK ((user_id = current_setting('throughline.user_id'::text, true)));
CREATE POLICY own_rows ON throughline.conversation_summaries USING ((user_id = current_setting('throughline.user_id'::text, true))) WITH CHECK ((user_id = current_setting('throughline.user_id'::text, true)));
CREATE POLICY own_rows ON throughline.conversation_summary_heads USING ((user_id = current_setting('throughline.user_id'::text, true))) WITH CHECK ((user_id = current_setting('throughline.user_id'::text, true)));
CREATE POLICY own_rows ON throughline.conversations USING ((user_id = current_setting('throughline.user_id'::text, true))) WITH CHECK ((user_id = current_setting('throughline.user_id'::text, true)));
CREATE POLICY own_rows ON throughline.episodes USING ((user_id = current_setting('throughline.user_id'::text, true))) WITH CHECK ((user_id = current_setting('throughline.user_id'::text, true)));
CREATE POLICY own_rows ON throughline.index_segment_chunks USING ((user_id = current_setting('throughline.user_id'::text, true))) WITH CHECK ((user_id = current_setting('throughline.user_id'::text, true)));
CREATE POLICY own_rows ON throughline.index_segments USING ((user_id = current_setting('throughline.user_id'::text, true))) WITH CHECK ((user_id = current_setting('throughline.user_id'::text, true)));
CREATE POLICY own_rows ON throughline.jobs USING ((user_id = current_setting('throughline.user_id'::text, true))) WITH CHECK ((user_id = current_setting('throughline.user_id'::text, true)));
CREATE POLICY own_rows ON throughline.memory_due_users USING ((user_id = current_setting('throughline.user_id'::text, true))) WITH CHECK ((user_id = current_setting('throughline.user_id'::text, true)));
CREATE POLICY own_rows ON throughline.memory_leases USING ((user_id = current_setting('throughline.user_id'::text, true))) WITH CHECK ((user_id = current_setting('throughline.user_id'::text, true)));
CREATE POLICY own_rows ON throughline.memory_meta USING ((user_id = current_setting('throughline.user_id'::text, true))) WITH CHECK ((user_id = current_setting('throughline.user_id'::text, true)));
CREATE POLICY own_rows ON throughline.memory_sources USING ((user_id = current_setting('throughline.user_id'::text, true))) WITH CHECK ((user_id = current_setting('throughline.user_id'::text, true)));
CREATE POLICY own_rows ON throughline.memory_users USING ((user_id = current_setting('throughline.user_id'::text, true))) WITH CHECK ((user_id = current_setting('throughline.user_id'::text, true)));
CREATE POLICY own_rows ON throughline.memory_writers USING ((user_id = current_setting('throughline.user_id'::text, true))) WITH CHECK ((user_id = current_setting('throughline.user_id'::text, true)));
CREATE POLICY own_rows ON throughline.message_embeddings USING ((user_id = current_setting('throughline.user_id'::text, true))) WITH CHECK ((user_id = current_setting('throughline.user_id'::text, true)));
CREATE POLICY own_rows ON throughline.notes USING ((user_id = current_setting('throughline.user_id'::text, true))) WITH CHECK ((user_id = current_setting('throughline.user_id'::text, true)));
CREATE POLICY own_rows ON throughline.search_chats USING ((user_id = current_setting('throughline.user_id'::text, true))) WITH CHECK ((user_id = current_setting('throughline.user_id'::text, true)));
CREATE POLICY own_rows ON throughline.search_messages USING ((user_id = current_setting('throughline.user_id'::text, true))) WITH CHECK ((user_id = current_setting('throughline.user_id'::text, true)));
CREATE POLICY own_rows ON throughline.search_terms USING ((user_id = current_setting('throughline.user_id'::text, true))) WITH CHECK ((user_id = current_setting('throughline.user_id'::text, true)));
CREATE POLICY own_rows ON throughline.user_memories USING ((user_id = current_setting('throughline.user_id'::text, true))) WITH CHECK ((user_id = current_setting('throughline.user_id'::text, true)));
ALTER TABLE throughline.search_chats ENABLE ROW LEVEL SECURITY;
ALTER TABLE throughline.search_messages ENABLE ROW LEVEL SECURITY;
ALTER TABLE throughline.search_terms ENABLE ROW LEVEL SECURITY;
ALTER TABLE throughline.user_memories ENABLE ROW LEVEL SECURITY;
CREATE POLICY worker_rows ON throughline.memory_due_users USING ((current_setting('throughline.worker'::text, true) = 'on'::text)) WITH CHECK ((current_setting('throughline.worker'::text, true) = 'on'::text));
