import type { Dialect } from '../../contract/index.ts'
import { toMessagesPath } from './caller-path.ts'
import { messagesDescription } from './description.ts'
import { buildMessage } from './message.ts'
import { MESSAGE_PING, streamMessageEvents } from './message-stream.ts'
import { parseMessagesRequest } from './parse-request.ts'

/** `POST /v1/messages`: Anthropic's Messages API. */
export const messagesDialect: Dialect = {
  parseRequest: (body, { headers }) => parseMessagesRequest(body, headers),
  writeWhole: buildMessage,
  writeStream: streamMessageEvents,
  hasErrorEvent: true,
  keepAlive: MESSAGE_PING,
  parameterNames: {
    response_format: 'output_config.format',
    stop: 'stop_sequences',
    user: 'metadata.user_id',
    reasoning_effort: 'output_config.effort',
  },
  toCallerPath: (path, _, body) => toMessagesPath(path, body),
  errorStyle: 'anthropic',
  description: messagesDescription,
}
