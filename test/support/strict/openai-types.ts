import type OpenAI from 'openai'
import type { Static } from '../../../core/contract/index.ts'
import type { ChatCompletion, ChatCompletionChunk } from '../../../core/dialects/chat/response-schemas.ts'

// Compiles if what our schemas describe can be read as the types of OpenAI's package. Nothing runs.

type Fits<Ours extends Theirs, Theirs> = Ours

export type Completion = Fits<Static<typeof ChatCompletion>, OpenAI.ChatCompletion>
export type Chunk = Fits<Static<typeof ChatCompletionChunk>, OpenAI.ChatCompletionChunk>
