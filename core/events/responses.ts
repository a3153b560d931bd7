import type { JsonObject, Message } from '../contract/index.ts'

/** What became of a call of the Responses API; stream `response-{id}`, of one event, that expires. Not followed: read when asked for. */
export type ResponseEvent =
  | { type: 'ResponseCompleted'; data: StoredResponse }
  | { type: 'ResponseFailed'; data: StoredResponse }

export interface StoredResponse {
  readonly userId: number
  /** The form in which the response was answered. */
  readonly form: ResponseForm
  /** What the call itself said, as it went to the model: masked where the firewall masks. */
  readonly input: readonly Message[]
  /** The response in OpenAI's form. */
  readonly response: JsonObject
  /** In which pieces it was streamed; not there when it was not. */
  readonly pace?: ChunkLengths
}

/** Text parts of the type `text`, as in the interface, or `output_text`, as OpenAI's clients need it. */
export type ResponseForm = 'interface' | 'openai'

/** Runs of pieces of one output item: its place in the output, then the length of each piece. 0 is the beginning of a tool call. */
export type ChunkLengths = readonly (readonly number[])[]

/** The stream of a response; `seed` are the 24 characters that its id shares with the call's request id. */
export const responseStream = (seed: string): string => `response-${seed}`
