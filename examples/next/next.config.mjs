/** @type {import("next").NextConfig} */
export default {
  // Loaded by Node from node_modules, each once for all routes: they read files that lie beside them.
  serverExternalPackages: ["throughline", "pg", "@electric-sql/pglite", "@electric-sql/pglite-pgvector"],
};
