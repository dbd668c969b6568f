import type { MigrationNames } from "./migrations.js";

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
