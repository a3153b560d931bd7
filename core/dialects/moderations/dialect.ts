import { type Dialect, GatewayError } from '../../contract/index.ts'
import { moderationsDescription } from './description.ts'
import { parseModerationsRequest } from './parse-request.ts'
import { buildModeration } from './response.ts'

/** `POST /v1/moderations`. */
export const moderationsDialect: Dialect = {
  operation: 'moderation',
  parseRequest: parseModerationsRequest,
  writeWhole: buildModeration,
  writeStream() {
    throw new GatewayError('internal_error', 'Moderations are not streamed.')
  },
  errorStyle: 'openai',
  description: moderationsDescription,
}
