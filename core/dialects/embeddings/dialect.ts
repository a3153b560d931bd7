import { type Dialect, GatewayError } from '../../contract/index.ts'
import { embeddingsDescription } from './description.ts'
import { parseEmbeddingsRequest } from './parse-request.ts'
import { buildEmbeddingList } from './response.ts'

/** `POST /v1/embeddings`. */
export const embeddingsDialect: Dialect = {
  operation: 'embeddings',
  parseRequest: parseEmbeddingsRequest,
  writeWhole: buildEmbeddingList,
  writeStream() {
    throw new GatewayError('internal_error', 'Embeddings are not streamed.')
  },
  parameterNames: { messages: 'input' },
  errorStyle: 'openai',
  description: embeddingsDescription,
}
