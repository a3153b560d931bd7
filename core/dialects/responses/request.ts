import type { JsonObject } from '../../contract/index.ts'

/** The body of `POST /v1/responses`, once its schema has held. Only what is read here is named. */
export interface ResponsesBody extends JsonObject {
  readonly model?: string
  readonly input: string | readonly InputItem[]
  readonly instructions?: string | null
  readonly max_output_tokens?: number | null
  readonly temperature?: number | null
  readonly top_p?: number | null
  readonly stream?: boolean | null
  readonly store?: boolean | null
  readonly metadata?: JsonObject | null
  readonly user?: string | null
  readonly previous_response_id?: string | null
  readonly parallel_tool_calls?: boolean | null
  readonly tools?: readonly FlatTool[] | null
  readonly tool_choice?: string | JsonObject | null
  readonly text?: { readonly format?: TextFormat | null; readonly verbosity?: string | null } | null
  readonly reasoning?: { readonly effort?: string | null; readonly summary?: string | null } | null
  readonly truncation?: string | null
}

/** Something said, called or thought; what it holds depends on its type, which is `message` when left out. */
export interface InputItem extends JsonObject {
  readonly type?: string
}

/** `{type:"function", name, parameters}`, where chat completions would nest it. */
export interface FlatTool extends JsonObject {
  readonly type: string
}

export interface TextFormat extends JsonObject {
  readonly type: string
}
