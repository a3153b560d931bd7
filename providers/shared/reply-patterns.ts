import type { ReplyEvent } from '../../core/contract/chat.ts'
import type { ProviderAdapter } from '../../core/contract/provider.ts'

/** Reads whole replies that are like earlier ones without parsing them. Stateful: create one per client. */
export interface ReplyPatterns {
  /** Returns the event of a reply, as parsing it would. Undefined: it must be parsed, and learned. */
  read(model: string, text: string): ReplyEvent | undefined
  /** Learns how replies of a model look, from the text of one, its record and its regular parts. */
  learn(model: string, text: string, event: ReplyEvent): void
}

/** An adapter whose whole replies can be recognised. Not part of the contract: declared formats have it. */
export interface PatternAdapter extends ProviderAdapter {
  createReplyPatterns?(): ReplyPatterns
}
