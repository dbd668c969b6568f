/**
 * What the server uses of the MCP SDK, so that the package is compiled without it. Apps compile against the SDK's own types:
 * the declarations that are shipped name its modules, and this file stays here.
 */
declare module "@modelcontextprotocol/sdk/types.js" {
  export interface CallToolRequest {
    readonly params: { readonly name: string; readonly arguments?: Readonly<Record<string, unknown>> };
  }
  export const ListToolsRequestSchema: { readonly request: object };
  export const CallToolRequestSchema: { readonly request: CallToolRequest };
}

declare module "@modelcontextprotocol/sdk/server/index.js" {
  export interface RequestExtra {
    readonly signal: AbortSignal;
  }
  export class Server {
    constructor(info: { name: string; version: string }, options: { capabilities: object; instructions?: string });
    onclose?: () => void;
    setRequestHandler<Request>(schema: { readonly request: Request }, handler: (request: Request, extra: RequestExtra) => Promise<object>): void;
    getClientCapabilities(): { readonly elicitation?: { readonly form?: object } } | undefined;
    elicitInput(request: { message: string; requestedSchema: object }, options: { signal?: AbortSignal }): Promise<{ action: string; content?: Record<string, unknown> }>;
    connect(transport: object): Promise<void>;
    close(): Promise<void>;
  }
}

declare module "@modelcontextprotocol/sdk/server/stdio.js" {
  export class StdioServerTransport {
    close(): Promise<void>;
  }
}
