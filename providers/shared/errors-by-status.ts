import { parseErrorBody } from './error-body.ts'
import { createErrorParser } from './errors.ts'

/** Parses an error response by its status, for adapters without an error format of their own. */
export const { parseResponse: parseErrorByStatus } = createErrorParser({
  parseBody(body) {
    const error = parseErrorBody(body)
    return { ...error, logCode: error.code || error.type }
  },
  classify: () => undefined,
  toDetails: () => ({}),
  toStatus: () => 500,
})
