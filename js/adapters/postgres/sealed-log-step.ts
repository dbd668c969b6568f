/** Logs of sealed batches, one per user, which devices write and the server cannot read. */

import type { MigrationNames } from "./migrations.js";
import { ownRows, sameRights } from "./rights.js";

const LOG_TABLES = ["sealed_logs", "sealed_log_entries"] as const;

/** Rows that are looked at for one page: what is read is limited by bytes. */
const PAGE_ROWS = 1_000;

/** SQL of the step. */
export function sealedLog(names: MigrationNames): string {
  const { schema } = names;
  return `
CREATE TABLE ${schema}.sealed_logs (
  user_id text COLLATE "C" PRIMARY KEY, start bigint NOT NULL DEFAULT 0, length bigint NOT NULL DEFAULT 0, chain text
);
CREATE TABLE ${schema}.sealed_log_entries (
  user_id text COLLATE "C" NOT NULL, position bigint NOT NULL, entry bytea NOT NULL,
  PRIMARY KEY (user_id, position)
);
${LOG_TABLES.map((table) => ownRows(schema, table)).join("")}
${sameRights(names, LOG_TABLES)}
${reading(schema)}${writing(schema)}`;
}

/** The first row is the log's, with the first entry where there is one: a log without entries has a row as well. */
function reading(schema: string): string {
  return `
CREATE FUNCTION ${schema}.read_log(given_user text, given_from bigint, given_bytes bigint)
RETURNS TABLE (log_start bigint, log_length bigint, log_chain text, log_entry bytea) LANGUAGE plpgsql STABLE AS $$
BEGIN
  PERFORM set_config('throughline.user_id', given_user, true);
  RETURN QUERY
    SELECT coalesce(l.start, 0), coalesce(l.length, 0), l.chain, e.entry
    FROM (SELECT given_user AS user_id) AS u
    LEFT JOIN ${schema}.sealed_logs AS l ON l.user_id = u.user_id
    LEFT JOIN LATERAL (
      SELECT p.position, p.entry, sum(octet_length(p.entry)) OVER (ORDER BY p.position) AS bytes
      FROM (
        SELECT t.position, t.entry FROM ${schema}.sealed_log_entries AS t
        WHERE t.user_id = given_user AND t.position >= given_from ORDER BY t.user_id, t.position LIMIT ${PAGE_ROWS}
      ) AS p
    ) AS e ON e.bytes <= given_bytes OR e.bytes = octet_length(e.entry)
    ORDER BY e.position;
END $$;
`;
}

function writing(schema: string): string {
  return `
-- The log's row is written first, so that writers wait for each other. An entry whose answer was lost is given once more, and
-- stands once: its bytes are no other's.
CREATE FUNCTION ${schema}.append_log(given_user text, given_at bigint, given_entry bytea) RETURNS boolean LANGUAGE plpgsql AS $$
BEGIN
  PERFORM set_config('throughline.user_id', given_user, true);
  IF current_setting('synchronous_commit') = 'off' THEN
    PERFORM set_config('synchronous_commit', 'on', true);
  END IF;
  INSERT INTO ${schema}.sealed_logs (user_id) VALUES (given_user) ON CONFLICT DO NOTHING;
  UPDATE ${schema}.sealed_logs SET length = length + 1 WHERE user_id = given_user AND length = given_at;
  IF NOT FOUND THEN
    RETURN EXISTS (SELECT FROM ${schema}.sealed_log_entries WHERE user_id = given_user AND position = given_at AND entry = given_entry);
  END IF;
  INSERT INTO ${schema}.sealed_log_entries (user_id, position, entry) VALUES (given_user, given_at, given_entry);
  RETURN true;
END $$;

CREATE FUNCTION ${schema}.cut_log(given_user text, given_before bigint, given_chain text) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
  PERFORM set_config('throughline.user_id', given_user, true);
  IF current_setting('synchronous_commit') = 'off' THEN
    PERFORM set_config('synchronous_commit', 'on', true);
  END IF;
  UPDATE ${schema}.sealed_logs SET start = given_before, chain = given_chain
    WHERE user_id = given_user AND start < given_before AND length > given_before;
  IF FOUND THEN
    DELETE FROM ${schema}.sealed_log_entries WHERE user_id = given_user AND position < given_before;
  END IF;
END $$;

CREATE FUNCTION ${schema}.delete_log(given_user text) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
  PERFORM set_config('throughline.user_id', given_user, true);
  DELETE FROM ${schema}.sealed_logs WHERE user_id = given_user;
  DELETE FROM ${schema}.sealed_log_entries WHERE user_id = given_user;
END $$;
`;
}
