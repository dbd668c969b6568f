/**
 * The fifth step: similarities to the last bit of what the engine works out (src/vector/quantise.rs), so that messages that are
 * equally near are so in the database as well. Whole numbers up to 2^24 are exact in the sums of a product, in whatever order, so
 * the question is two vectors of whole numbers of a byte each: that much is true of up to 1,000 dimensions whatever is in them, and
 * in practice of several times as many.
 */

import { findingFunction } from "./message-search.js";
import type { MigrationNames } from "./migrations.js";

/** SQL of the step; none without pgvector. */
export function similarities({ schema, vectors }: MigrationNames): string {
  if (vectors === undefined) return "";
  const product = `OPERATOR(${vectors}.<#>)`;
  const near = {
    declared: "high DIRECTION; low DIRECTION; one_over_length real;",
    // The operator's product is negative. A question without direction is near nothing.
    answered: `
  IF given_model IS NOT NULL THEN
    SELECT a.high, a.low, a.scale INTO high, low, one_over_length FROM ${schema}.asked_of(given_vector::${vectors}.vector) AS a;
    RETURN QUERY SELECT -2, c.conversation, string_agg(int4send(n.seq) || float4send(n.near), ''::bytea)
      FROM (
        SELECT v.chat, v.seq, max(greatest(-1, least(1,
          (-256 * (v.direction ${product} high) - (v.direction ${product} low))::real * one_over_length * (1 / sqrt(-(v.direction ${product} v.direction)))::real
        )))::real AS near
        FROM ${schema}.search_vectors AS v WHERE v.user_id = given_user AND v.model = given_model AND one_over_length IS NOT NULL GROUP BY v.chat, v.seq
      ) AS n
      JOIN ${schema}.search_chats AS c ON c.user_id = given_user AND c.chat = n.chat GROUP BY c.conversation;
  END IF;`,
  };
  return `
-- A question's vector in whole numbers: 256 times the first and the second together, and one over their length. None of a vector
-- without direction.
CREATE FUNCTION ${schema}.asked_of(given ${vectors}.vector) RETURNS TABLE (high ${vectors}.vector, low ${vectors}.vector, scale real) LANGUAGE sql IMMUTABLE AS $$
  SELECT array_agg(((q + 128) >> 8)::real ORDER BY place)::${vectors}.vector, array_agg((q - (((q + 128) >> 8) << 8))::real ORDER BY place)::${vectors}.vector,
    (1 / sqrt(sum(q::double precision * q)))::real
  FROM (
    SELECT (sign(n) * floor(abs(n) + 0.5))::int AS q, place
    FROM (
      SELECT (share / length)::real::double precision * least(32767 * length, 1073741824 / (127 * sqrt(ceil(dimensions / 16.0) * 16))) AS n, place
      FROM (
        SELECT share, place, sqrt(sum(share * share) OVER (ORDER BY place ROWS BETWEEN UNBOUNDED PRECEDING AND UNBOUNDED FOLLOWING)) AS length, count(*) OVER () AS dimensions
        FROM (
          SELECT (n / max(abs(n)) OVER ())::double precision AS share, place FROM unnest(given::real[]) WITH ORDINALITY AS each (n, place)
        ) AS shares
      ) AS lengths
    ) AS scaled
  ) AS whole
  WHERE EXISTS (SELECT FROM unnest(given::real[]) AS each (n) WHERE n <> 0)
$$;

-- Directions are of the type that pgvector had when they were first made.
DO $made$ BEGIN
  EXECUTE replace($body$${findingFunction(schema, near)}$body$, 'DIRECTION', (
    SELECT atttypid::regtype::text FROM pg_attribute WHERE attrelid = '${schema}.search_vectors'::regclass AND attname = 'direction'
  ));
END $made$;`;
}
