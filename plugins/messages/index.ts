export { messagesDialect } from './dialect.ts'
export { messagesRequestSchema } from './request-schema.ts'
