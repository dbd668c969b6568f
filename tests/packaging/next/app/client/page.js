"use client";

import { useEffect } from "react";
import { outcome } from "../../job.js";

export default function Page() {
  useEffect(() => {
    globalThis.started ??= outcome().then((result) => {
      globalThis.outcome = result;
    });
  }, []);
  return <p>client</p>;
}
