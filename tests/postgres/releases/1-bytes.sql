CREATE SCHEMA throughline;
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
CREATE FUNCTION throughline.embedding_of(given_table text) RETURNS text
    LANGUAGE sql IMMUTABLE
    AS $$
  SELECT CASE given_table WHEN 'message_embeddings' THEN 'r.embedding' ELSE 'NULL::bytea' END
$$;
CREATE FUNCTION throughline.erase_user(given_user text, given_incarnation uuid) RETURNS boolean
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
CREATE FUNCTION throughline.refuse_erased() RETURNS void
    LANGUAGE plpgsql
    AS $$
BEGIN
  RAISE EXCEPTION 'the records of this user were erased' USING ERRCODE = 'TL001';
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
CREATE TABLE throughline.user_memories (
    user_id text NOT NULL COLLATE pg_catalog."C",
    key bytea NOT NULL,
    body text NOT NULL,
    blob bytea
);
ALTER TABLE ONLY throughline.user_memories FORCE ROW LEVEL SECURITY;
INSERT INTO throughline.audit VALUES ('alex', '\x013ff0000000000000', '{"number":1,"at":1767225600000.0,"operation":"ADD","by":"user","factId":"f1","before":null,"after":"Likes port 8471.","reason":"explicit","sum":"4671b0ff78f4a6c2"}', NULL);
INSERT INTO throughline.conversation_message_ids VALUES ('alex', '\x026331000263616c6c3a38396566346333652d336130372d343633332d613030352d36316533313632313831353900', '{"seq":1,"contentHash":""}', NULL);
INSERT INTO throughline.conversation_message_ids VALUES ('alex', '\x02633100026d3100', '{"seq":1,"contentHash":"e23feff9709f9659"}', NULL);
INSERT INTO throughline.conversation_message_ids VALUES ('alex', '\x02633100026d3200', '{"seq":2,"contentHash":"3365cbd0948c6819"}', NULL);
INSERT INTO throughline.conversation_message_ids VALUES ('alex', '\x02633100026d3300', '{"seq":3,"contentHash":"e2028b3f269b7cb3"}', NULL);
INSERT INTO throughline.conversation_messages VALUES ('alex', '\x02633100013ff0000000000000', '{"conversationId":"c1","seq":1,"id":"m1","parentSeq":0,"role":"user","format":"openai","raw":"{\"id\":\"m1\",\"role\":\"user\",\"content\":\"Which port did we pick?\"}","text":"Which port did we pick?","tokens":7,"countedWith":"estimate/1","contentHash":"e23feff9709f9659","createdAt":1767225600000.0,"normalized":false,"opensGroup":true}', NULL);
INSERT INTO throughline.conversation_messages VALUES ('alex', '\x02633100014000000000000000', '{"conversationId":"c1","seq":2,"id":"m2","parentSeq":1,"role":"assistant","format":"openai","raw":"{\"id\":\"m2\",\"role\":\"assistant\",\"content\":\"Port 8471, as nothing else listens there. \\u0000 😀\"}","text":"Port 8471, as nothing else listens there. \u0000 😀","tokens":15,"countedWith":"estimate/1","contentHash":"3365cbd0948c6819","createdAt":1767225600000.0,"normalized":false,"opensGroup":false}', NULL);
INSERT INTO throughline.conversation_messages VALUES ('alex', '\x02633100014008000000000000', '{"conversationId":"c1","seq":3,"id":"m3","parentSeq":2,"role":"user","format":"openai","raw":"{\"id\":\"m3\",\"role\":\"user\",\"content\":\"Thank you.\"}","text":"Thank you.","tokens":4,"countedWith":"estimate/1","contentHash":"e2028b3f269b7cb3","createdAt":1767225600000.0,"normalized":false,"opensGroup":true}', NULL);
INSERT INTO throughline.conversations VALUES ('alex', '\x02633100', '{"id":"c1","born":1,"title":"A chat of this layout","projectId":null,"remember":true,"createdAt":1767225600000.0,"updatedAt":1767225600000.0,"lastSeq":3,"tokens":26,"firstText":"Which port did we pick?","sum":"ca55b9066d856b33"}', NULL);
INSERT INTO throughline.jobs VALUES ('alex', '\x02636f6d706163740002633100', '{"kind":"compact","conversationId":"c1","born":1,"doneUntilSeq":0,"attempts":0,"notBefore":0.0,"lastError":null,"sum":"00b608b93ffa6d00"}', NULL);
INSERT INTO throughline.jobs VALUES ('alex', '\x02657874726163740002633100', '{"kind":"extract","conversationId":"c1","born":1,"doneUntilSeq":0,"attempts":0,"notBefore":0.0,"lastError":null,"sum":"791621e308f62781"}', NULL);
INSERT INTO throughline.jobs VALUES ('alex', '\x02656d6265640002633100', '{"kind":"embed","conversationId":"c1","born":1,"doneUntilSeq":3,"model":"hashing-8/8","attempts":0,"notBefore":0.0,"lastError":null,"sum":"d4cb9bc760b7acd5"}', NULL);
INSERT INTO throughline.memory_meta VALUES ('alex', '\x02736368656d6100', '{"version":101,"sum":"dd986612fbca507c"}', NULL);
INSERT INTO throughline.memory_meta VALUES ('alex', '\x02776f726b5f6c6561736500', '{"epoch":1,"sum":"4fb81c96c123d407"}', NULL);
INSERT INTO throughline.memory_meta VALUES ('alex', '\x02636f6e766572736174696f6e7300', '{"last":1,"erasures":0,"sum":"e3ec47df4c77d732"}', NULL);
INSERT INTO throughline.memory_meta VALUES ('alex', '\x02636f6e766572736174696f6e5f7374616d7000', '{"stamp":"8eebc13eae5ac049"}', NULL);
INSERT INTO throughline.memory_meta VALUES ('alex', '\x02666163747300', '{"lastFact":1,"lastAudit":1,"version":1,"sum":"77ee5251577d9d6b"}', NULL);
INSERT INTO throughline.memory_users VALUES ('alex', 'e3e16934-d7c6-4aa0-950f-3e28def755f8', 6);
INSERT INTO throughline.memory_writers VALUES ('alex', '9ac35c65-5ee3-4041-8266-55633812354a', 6, '2026-11-30 17:34:22.286732+00');
INSERT INTO throughline.message_embeddings VALUES ('alex', '\x02633100013ff0000000000000010000000000000000', '{"model":"hashing-8/8","parts":1,"checksum":"064ca95acf6062f0"}', '\xcdcccc3dcdcc4cbfcdccccbdcdcc4c3ecdccccbdcdccccbe9a9999becdcc4c3e', NULL);
INSERT INTO throughline.message_embeddings VALUES ('alex', '\x02633100014000000000000000010000000000000000', '{"model":"hashing-8/8","parts":1,"checksum":"b1d069c077ad7bdd"}', '\x8f84413e8f8441bf8f84413e8f84413e000000008f84c13e8f8441be8f84c13e', NULL);
INSERT INTO throughline.message_embeddings VALUES ('alex', '\x02633100014008000000000000010000000000000000', '{"model":"hashing-8/8","parts":1,"checksum":"17141a8c74642bd9"}', '\xe3ba2bbf2ef9e4be000000002ef9643e000000002ef9e43e2ef964be2ef964be', NULL);
INSERT INTO throughline.schema_migrations VALUES (1, '2026-11-30 17:34:21.305791+00');
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
ALTER TABLE ONLY throughline.user_memories
    ADD CONSTRAINT user_memories_pkey PRIMARY KEY (user_id, key);
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
CREATE POLICY own_rows ON throughline.memory_leases USING ((user_id = current_setting('throughline.user_id'::text, true))) WITH CHECK ((user_id = current_setting('throughline.user_id'::text, true)));
CREATE POLICY own_rows ON throughline.memory_meta USING ((user_id = current_setting('throughline.user_id'::text, true))) WITH CHECK ((user_id = current_setting('throughline.user_id'::text, true)));
CREATE POLICY own_rows ON throughline.memory_sources USING ((user_id = current_setting('throughline.user_id'::text, true))) WITH CHECK ((user_id = current_setting('throughline.user_id'::text, true)));
CREATE POLICY own_rows ON throughline.memory_users USING ((user_id = current_setting('throughline.user_id'::text, true))) WITH CHECK ((user_id = current_setting('throughline.user_id'::text, true)));
CREATE POLICY own_rows ON throughline.memory_writers USING ((user_id = current_setting('throughline.user_id'::text, true))) WITH CHECK ((user_id = current_setting('throughline.user_id'::text, true)));
CREATE POLICY own_rows ON throughline.message_embeddings USING ((user_id = current_setting('throughline.user_id'::text, true))) WITH CHECK ((user_id = current_setting('throughline.user_id'::text, true)));
CREATE POLICY own_rows ON throughline.notes USING ((user_id = current_setting('throughline.user_id'::text, true))) WITH CHECK ((user_id = current_setting('throughline.user_id'::text, true)));
CREATE POLICY own_rows ON throughline.user_memories USING ((user_id = current_setting('throughline.user_id'::text, true))) WITH CHECK ((user_id = current_setting('throughline.user_id'::text, true)));
ALTER TABLE throughline.user_memories ENABLE ROW LEVEL SECURITY;
