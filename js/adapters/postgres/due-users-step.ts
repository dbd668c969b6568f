/**
 * The queue of background work: which users may have some, and who works for whom. What is to be done for a user is the engine's to
 * say, from the records; here is only whose records changed since somebody looked.
 */

import type { MigrationNames } from "./migrations.js";
import { ownRows, sameRights } from "./rights.js";

/** SQL of the step. */
export function dueUsers(names: MigrationNames): string {
  const { schema } = names;
  return `
CREATE TABLE ${schema}.memory_due_users (
  user_id text COLLATE "C" PRIMARY KEY, changes bigint NOT NULL DEFAULT 1, changed_at timestamptz NOT NULL DEFAULT clock_timestamp(),
  due_at timestamptz NOT NULL DEFAULT clock_timestamp(), holder uuid, failures int NOT NULL DEFAULT 0
);
-- The one index that user_id does not begin: whoever works looks for users.
CREATE INDEX memory_due_users_by_time ON ${schema}.memory_due_users (due_at);${ownRows(schema, "memory_due_users")}
CREATE POLICY worker_rows ON ${schema}.memory_due_users
  USING (current_setting('throughline.worker', true) = 'on') WITH CHECK (current_setting('throughline.worker', true) = 'on');
${sameRights(names, ["memory_due_users"])}
${noting(schema)}${working(schema)}
-- Whoever has records already may have work. The tables' owner is bound by their policies as well, but for this statement.
ALTER TABLE ${schema}.memory_users NO FORCE ROW LEVEL SECURITY;
SELECT set_config('throughline.worker', 'on', true);
INSERT INTO ${schema}.memory_due_users (user_id) SELECT user_id FROM ${schema}.memory_users;
SELECT set_config('throughline.worker', '', true);
ALTER TABLE ${schema}.memory_users FORCE ROW LEVEL SECURITY;`;
}

/** Every change of messages writes the record of their conversation; a put is INSERT ... ON CONFLICT, which counts as INSERT. */
function noting(schema: string): string {
  return `
CREATE FUNCTION ${schema}.note_due_user() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE changed text := current_setting('throughline.user_id', true);
BEGIN
  IF changed <> '' THEN
    INSERT INTO ${schema}.memory_due_users AS d (user_id) VALUES (changed)
      ON CONFLICT (user_id) DO UPDATE SET changes = d.changes + 1, changed_at = clock_timestamp(),
        due_at = CASE WHEN d.holder IS NULL THEN least(d.due_at, clock_timestamp()) ELSE d.due_at END;
  END IF;
  RETURN NULL;
END $$;
CREATE TRIGGER note_due_user AFTER INSERT OR DELETE ON ${schema}.conversations
  FOR EACH STATEMENT EXECUTE FUNCTION ${schema}.note_due_user();

CREATE FUNCTION ${schema}.forget_due_user() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  DELETE FROM ${schema}.memory_due_users WHERE user_id = OLD.user_id;
  RETURN NULL;
END $$;
CREATE TRIGGER forget_due_user AFTER DELETE ON ${schema}.memory_users
  FOR EACH ROW EXECUTE FUNCTION ${schema}.forget_due_user();
`;
}

function working(schema: string): string {
  return `
-- Users whose records nobody changed for a while, and those whose worker is silent. What others look at in this moment is left to them.
CREATE FUNCTION ${schema}.take_due_users(given_holder uuid, most int, lease_seconds double precision, quiet_seconds double precision)
RETURNS TABLE (user_id text, changes bigint) LANGUAGE plpgsql AS $$
DECLARE at timestamptz := clock_timestamp(); quiet interval := make_interval(secs => quiet_seconds);
BEGIN
  PERFORM set_config('throughline.worker', 'on', true);
  PERFORM set_config('synchronous_commit', 'off', true);
  RETURN QUERY
    WITH free AS MATERIALIZED (
      SELECT w.user_id FROM ${schema}.memory_due_users AS w
      -- Who never rests for so long is not left out for ever.
      WHERE w.due_at <= at AND (w.holder IS NOT NULL OR w.changed_at <= at - quiet OR w.due_at <= at - 10 * quiet)
      ORDER BY w.due_at LIMIT most FOR UPDATE SKIP LOCKED
    )
    UPDATE ${schema}.memory_due_users AS d SET holder = given_holder, due_at = at + make_interval(secs => lease_seconds)
    FROM free WHERE d.user_id = free.user_id RETURNING d.user_id, d.changes;
END $$;

CREATE FUNCTION ${schema}.keep_due_user(given_user text, given_holder uuid, lease_seconds double precision)
RETURNS boolean LANGUAGE plpgsql AS $$
BEGIN
  PERFORM set_config('throughline.worker', 'on', true);
  PERFORM set_config('synchronous_commit', 'off', true);
  UPDATE ${schema}.memory_due_users AS d SET due_at = clock_timestamp() + make_interval(secs => lease_seconds)
    WHERE d.user_id = given_user AND d.holder = given_holder;
  RETURN FOUND;
END $$;

-- given_changes: those that were worked off; null: none. wait_seconds: until something is to be tried again; null: nothing is.
-- idle_seconds: after the last change there is another look, since what a session was is written down when it is over.
CREATE FUNCTION ${schema}.release_due_user(
  given_user text, given_holder uuid, given_changes bigint, wait_seconds double precision, idle_seconds double precision, has_failed boolean
) RETURNS void LANGUAGE plpgsql AS $$
DECLARE at timestamptz := clock_timestamp(); idle interval := make_interval(secs => idle_seconds);
BEGIN
  PERFORM set_config('throughline.worker', 'on', true);
  PERFORM set_config('synchronous_commit', 'off', true);
  DELETE FROM ${schema}.memory_due_users AS d
    WHERE d.user_id = given_user AND d.holder = given_holder AND d.changes = given_changes
      AND wait_seconds IS NULL AND NOT has_failed AND d.changed_at + idle <= at;
  IF FOUND THEN
    RETURN;
  END IF;
  UPDATE ${schema}.memory_due_users AS d SET holder = NULL, failures = CASE WHEN has_failed THEN d.failures + 1 ELSE 0 END,
    due_at = CASE
      WHEN has_failed THEN at + least(interval '30 seconds' * 2 ^ least(d.failures, 7), interval '1 hour')
      WHEN d.changes IS DISTINCT FROM given_changes THEN at
      WHEN wait_seconds IS NOT NULL THEN at + make_interval(secs => wait_seconds)
      ELSE greatest(d.changed_at + idle, at) END
    WHERE d.user_id = given_user AND d.holder = given_holder;
END $$;
`;
}
