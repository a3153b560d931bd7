import type {
  MessageCreateParamsBase,
  MessageParam,
  UserMessageParam,
} from '@anthropic-ai/sdk/resources/messages/messages'
import type { AnthropicBody, AnthropicMessage } from '../../../../providers/anthropic/wire.ts'
import { bodyOf } from './target.ts'

/** A type after a round trip through JSON: nothing is undefined or read-only. */
type Written<T> = T extends object ? { -readonly [K in keyof T]: Written<Exclude<T[K], undefined>> } : T

/** Since version 1, the SDK does not list sampling parameters. Older models take them. */
type Sampling = Pick<Written<AnthropicBody>, 'temperature' | 'top_p' | 'top_k'>

type Params = MessageCreateParamsBase & Sampling

describe('the body of a request to Anthropic', () => {
  it("conforms to the types of Anthropic's SDK (checked by the compiler)", () => {
    const { messages, ...rest } = bodyOf({}) as Written<AnthropicBody>
    const body: Omit<Params, 'messages'> = rest
    const contents: Omit<UserMessageParam, 'role'>[] = messages
    const roles: MessageParam['role'][] = messages.map(({ role }: Written<AnthropicMessage>) => role)
    const unknownFields: Exclude<keyof AnthropicBody, keyof Params>[] = []
    void [body, contents, roles, unknownFields satisfies never[]]
  })
})
