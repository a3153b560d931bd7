import type { Dialect } from '../../contract/index.ts'
import { chatErrorBody } from './error-body.ts'
import { readChatRequest } from './read-request.ts'
import { writeChunks } from './write-stream.ts'
import { writeCompletion } from './write-whole.ts'

/** `POST /v1/chat/completions`. */
export const chatDialect: Dialect = {
  parseRequest: readChatRequest,
  writeWhole: writeCompletion,
  writeStream: writeChunks,
  errorBody: chatErrorBody,
}
