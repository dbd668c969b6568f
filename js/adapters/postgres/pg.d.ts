/** What is used of `pg`, so that the package is compiled without it. This file stays here. */
declare module "pg" {
  interface PoolConfig {
    connectionString: string;
    max: number;
    connectionTimeoutMillis: number;
    keepAlive: boolean;
    application_name: string;
  }
  const pg: { Pool: new (config: PoolConfig) => import("./pool.js").PostgresPool };
  export default pg;
}
