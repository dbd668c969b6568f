import { outcome } from "../job.js";

export const dynamic = "force-dynamic";

export default async function Page() {
  return <pre>{JSON.stringify(await outcome())}</pre>;
}
