import type OpenAI from 'openai'
import type { Static } from '../../../core/contract/index.ts'
import type { ChatCompletion, ChatCompletionChunk } from '../../../plugins/dispatch/chat/response-schemas.ts'
import type { TextCompletion } from '../../../plugins/dispatch/completions.ts'
import type { ResponseSchema, ResponseStreamEvent } from '../../../plugins/responses/response-schemas.ts'
import type { ListedItem } from '../../../plugins/responses/schemas.ts'

// Compiles if what our schemas describe can be read as the types of OpenAI's package. Nothing runs.

type Fits<Ours extends Theirs, Theirs> = Ours

export type Completion = Fits<Static<typeof ChatCompletion>, OpenAI.ChatCompletion>
export type Text = Fits<Static<typeof TextCompletion>, OpenAI.Completion>
export type Chunk = Fits<Static<typeof ChatCompletionChunk>, OpenAI.ChatCompletionChunk>

/** Known fields only, and the text parts of OpenAI's form. */
type OpenAiForm<Ours> = Ours extends { type: 'text'; text: string }
  ? never
  : Ours extends readonly (infer Item)[]
    ? OpenAiForm<Item>[]
    : Ours extends object
      ? { [Name in keyof Ours as string extends Name ? never : Name]: OpenAiForm<Ours[Name]> }
      : Ours

/** Types without `output_text`, which the package computes. */
type OnTheWire<Theirs> = Theirs extends { response: OpenAI.Responses.Response }
  ? Omit<Theirs, 'response'> & { response: WireResponse }
  : Theirs

/** OpenAI sends codes that its package does not list: Codex reads them. */
type WireResponse = Omit<OpenAI.Responses.Response, 'output_text' | 'error'> & {
  error: (Omit<OpenAI.Responses.ResponseError, 'code'> & { code: WireErrorCode }) | null
}

type WireErrorCode =
  | OpenAI.Responses.ResponseError['code']
  | 'context_length_exceeded'
  | 'insufficient_quota'
  | 'server_is_overloaded'

type Event = OpenAiForm<Static<typeof ResponseStreamEvent>>
type Item = OpenAiForm<Static<typeof ListedItem>>

export type Response = Fits<OpenAiForm<Static<typeof ResponseSchema>>, WireResponse>
export type Events = Fits<Event, OnTheWire<OpenAI.Responses.ResponseStreamEvent>>
export type Items = Fits<Item, OpenAI.Responses.ResponseItem>
