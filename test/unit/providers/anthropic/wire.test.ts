import type { MessageCreateParamsBase } from '@anthropic-ai/sdk/resources/messages/messages'
import type { AnthropicBody } from '../../../../providers/anthropic/wire.ts'
import { bodyOf } from './target.ts'

/** A type after a round trip through JSON: nothing is undefined or read-only. */
type Written<T> = T extends object ? { -readonly [K in keyof T]: Written<Exclude<T[K], undefined>> } : T

describe('the body of a request to Anthropic', () => {
  it("conforms to the types of Anthropic's SDK (checked by the compiler)", () => {
    const body: MessageCreateParamsBase = bodyOf({}) as Written<AnthropicBody>
    const unknownFields: Exclude<keyof AnthropicBody, keyof MessageCreateParamsBase>[] = []
    void [body, unknownFields satisfies never[]]
  })
})
