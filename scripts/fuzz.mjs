// `npm run fuzz`: the fuzz targets with new cases, for an hour or as many seconds as FUZZ_SECONDS says. What fails prints how
// to replay it.

process.env.FUZZ_SECONDS ??= "3600";
process.env.FUZZ_START ??= String(Date.now() % 2 ** 31);
process.argv.splice(2, Infinity, "fuzz");
await import("./test.mjs");
