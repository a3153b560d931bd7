import type { StreamsClient } from '@eventstore/db-client/generated/streams_grpc_pb.js'

type StreamsCall = ReturnType<StreamsClient['batchAppend']>

/** Members of the client that its types declare protected. */
export interface ClientInternals {
  readonly capabilities: Promise<{ readonly serverVersion: string }>
  supports(): Promise<boolean>
  handleError(client: unknown, error: Error): Promise<void>
  getChannel(): Promise<{ close(): void }>
  /** Opens a call that `dispose` cancels, and whose failure makes the client connect again. */
  GRPCStreamCreator(
    client: typeof StreamsClient,
    name: string,
    create: (client: StreamsClient) => StreamsCall,
  ): () => Promise<StreamsCall>
  callArguments(options: object, defaults: { deadline: number }): Parameters<StreamsClient['batchAppend']>
}
