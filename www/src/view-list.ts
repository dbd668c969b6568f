/** Every view beside the conversation, in the order of the switch. What only one view needs is fetched when it is shown. */

import { contextPanel } from "./context-panel.ts";
import { showMessage } from "./navigation.ts";
import type { View } from "./views.ts";

/** The views. */
export const VIEWS: readonly View[] = [
  {
    id: "context",
    title: "Context",
    place: "beside",
    mount: (root, workspace) => {
      contextPanel(root, workspace, (seq) => {
        if (workspace.inquiry) void showMessage(workspace, workspace.inquiry.conversationId, seq);
      });
    },
  },
  {
    id: "race",
    title: "Race",
    place: "page",
    mount: async (root, workspace) => {
      const { mountRace } = await import("./race/race-view.ts");
      mountRace(root, workspace);
    },
  },
  {
    id: "memory",
    title: "Memory",
    place: "beside",
    mount: async (root, workspace) => {
      const { memoryView } = await import("./memory-view.ts");
      memoryView(root, workspace);
    },
    // What was said last waits to be looked through with what follows; who looks at what is remembered does not want to wait.
    shown: (workspace) => void workspace.inBackground(async () => workspace.memory?.settled()),
  },
  {
    id: "import",
    title: "Import",
    place: "page",
    mount: async (root, workspace) => {
      const { importView } = await import("./import-view.ts");
      importView(root, workspace);
    },
  },
  {
    id: "privacy",
    title: "Privacy",
    place: "page",
    mount: async (root, workspace) => {
      const { privacyView } = await import("./privacy-view.ts");
      privacyView(root, workspace);
    },
  },
  {
    id: "models",
    title: "Models",
    place: "page",
    mount: async (root, workspace) => {
      const { modelsView } = await import("./models-view.ts");
      modelsView(root, workspace);
    },
  },
  {
    id: "benchmark",
    title: "Benchmark",
    place: "page",
    mount: async (root) => {
      const { mountBenchmark } = await import("./benchmark/benchmark-view.ts");
      mountBenchmark(root);
    },
  },
];
