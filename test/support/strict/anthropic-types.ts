import type Anthropic from '@anthropic-ai/sdk'
import type { Static } from '../../../core/contract/index.ts'
import type { messagesRequestSchema } from '../../../plugins/messages/request-schema.ts'
import type {
  MessageEvent,
  MessageSchema,
  MessageUsageSchema,
} from '../../../plugins/messages/response-schemas.ts'

// Compiles if what our schemas describe can be read as the types of Anthropic's package. Nothing runs.

type Fits<Ours extends Theirs, Theirs> = Ours

/** A type without its index signature. */
type Known<Ours> = { [Name in keyof Ours as string extends Name ? never : Name]: Ours[Name] }

type Message = Known<Static<typeof MessageSchema>>

export type Fields = Fits<keyof Anthropic.Message, keyof Message>
export type Simple = Fits<
  Pick<Message, 'id' | 'type' | 'role' | 'model' | 'stop_reason' | 'stop_sequence'>,
  Pick<Anthropic.Message, 'id' | 'type' | 'role' | 'model' | 'stop_reason' | 'stop_sequence'>
>

type Usage = Known<Static<typeof MessageUsageSchema>>
type Counts = 'input_tokens' | 'output_tokens' | 'cache_creation_input_tokens' | 'cache_read_input_tokens'

export type UsageFields = Fits<keyof Anthropic.Usage, keyof Usage>
export type UsageCounts = Fits<Pick<Usage, Counts>, Pick<Anthropic.Usage, Counts>>

type Block = Message['content'][number]
type BlockOf<Type> = Known<Extract<Block, { type: Type }>>

export type Text = Fits<Omit<BlockOf<'text'>, 'citations'>, Omit<Anthropic.TextBlock, 'citations'>>
export type Thinking = Fits<BlockOf<'thinking'>, Anthropic.ThinkingBlock>
export type ToolUse = Fits<BlockOf<'tool_use'>, Omit<Anthropic.ToolUseBlock, 'caller'>>

export type EventTypes = Fits<Anthropic.RawMessageStreamEvent['type'], Static<typeof MessageEvent>['type']>

type Request = Known<Static<typeof messagesRequestSchema>>

/** Every field of requests is described, or passed on without a description. */
export type RequestFields = Fits<
  Exclude<
    keyof Anthropic.MessageCreateParams,
    'container' | 'diagnostics' | 'inference_geo' | 'speed' | 'user_profile_id' | 'workspace_id'
  >,
  keyof Request
>
