/** Who may see and change the rows of a table. */

import type { MigrationNames } from "./migrations.js";

/** SQL that binds a table, its owner as well, to the rows of the user that the transaction names. */
export function ownRows(schema: string, table: string): string {
  return `
ALTER TABLE ${schema}.${table} ENABLE ROW LEVEL SECURITY;
ALTER TABLE ${schema}.${table} FORCE ROW LEVEL SECURITY;
CREATE POLICY own_rows ON ${schema}.${table}
  USING (user_id = current_setting('throughline.user_id', true)) WITH CHECK (user_id = current_setting('throughline.user_id', true));`;
}

/** SQL that gives whoever may use the tables of the first step the same rights on tables that were just made. */
export function sameRights({ schema }: MigrationNames, tables: readonly string[]): string {
  return `
DO $rights$
DECLARE given record;
BEGIN
  FOR given IN
    SELECT a.privilege_type AS may, CASE WHEN a.grantee = 0 THEN 'PUBLIC' ELSE quote_ident(pg_get_userbyid(a.grantee)) END AS who
    FROM pg_class AS c CROSS JOIN LATERAL aclexplode(c.relacl) AS a
    WHERE c.oid = '${schema}.conversation_messages'::regclass AND a.grantee <> c.relowner AND a.privilege_type IN ('SELECT', 'INSERT', 'UPDATE', 'DELETE')
  LOOP
    EXECUTE format('GRANT %s ON ${tables.map((table) => `${schema}.${table}`).join(", ")} TO %s', given.may, given.who);
  END LOOP;
END $rights$;`;
}
