import type { StreamsClient } from '@eventstore/db-client/generated/streams_grpc_pb.js'

/** Members of the client that its types declare protected. */
export interface ClientInternals {
  readonly capabilities: Promise<{ readonly serverVersion: string }>
  /** Makes the client connect again if the error means that it has to. */
  handleError(client: unknown, error: Error): Promise<void>
  getChannel(): Promise<{ close(): void }>
  /** Resolves with the current connection's client of a service; connects if necessary. */
  getGRPCClient(client: typeof StreamsClient, name: string): Promise<StreamsClient>
  callArguments(
    options: object,
    defaults: { deadline: number },
  ): Required<Parameters<StreamsClient['batchAppend']>>
}
