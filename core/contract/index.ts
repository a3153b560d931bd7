/** The public API: plugin packages import it as `signalbox`. */

/** For metrics of plugins: `new Counter({ …, registers: [host.metrics] })`. */
export { Counter, Gauge, Histogram, type Registry } from 'prom-client'
export type {
  ChatRequest,
  ContentPart,
  ExtraContent,
  ExtraPart,
  FinishReason,
  Message,
  ReasoningData,
  Reply,
  ReplyPart,
  ReplyTransform,
  Tool,
  ToolCall,
  ToolStart,
  Usage,
  Vector,
} from './chat.ts'
export { ReplyEvent, TokenIds } from './chat.ts'
export * from './chat-format.ts'
export type * from './dialect.ts'
export { ERROR_CODES, type ErrorCode, type ErrorDefinition } from './error-codes.ts'
export { type ContextLengths, type CustomError, type ErrorDetails, errorsOf, GatewayError } from './errors.ts'
export * from './event-log.ts'
export * from './exchange.ts'
export * from './http.ts'
export * from './json.ts'
export * from './plugin.ts'
export type * from './provider.ts'
export { createTextTransform, type PhraseReplacement, type TextReplacement } from './reply-text.ts'
export * from './resource.ts'
export * from './rules.ts'
export * from './service.ts'
export * from './shared-state.ts'
export { SignalboxError } from './signalbox-error.ts'
