import type { MessageCreateParamsBase } from '@anthropic-ai/sdk/resources/messages/messages'
import type { MessagesBody } from '../../../../providers/anthropic/wire.ts'
import { bodyOf } from './target.ts'

/** What JSON leaves of a type: nothing is undefined there, and nothing read-only. */
type Written<T> = T extends object ? { -readonly [K in keyof T]: Written<Exclude<T[K], undefined>> } : T

describe('the body of a call to Anthropic', () => {
  it("is what the provider's own SDK sends (checked by the compiler)", () => {
    const body: MessageCreateParamsBase = bodyOf({}) as Written<MessagesBody>
    const unknownFields: Exclude<keyof MessagesBody, keyof MessageCreateParamsBase>[] = []
    void [body, unknownFields satisfies never[]]
  })
})
