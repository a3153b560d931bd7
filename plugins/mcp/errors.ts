import { type ErrorDefinition, errorsOf } from '../../core/contract/index.ts'
import { TOOL_RULE_ERROR_CODES } from '../tool-rules/index.ts'

const refused = 'permission_error'

/** The codes of errors about tool calls: `error.data.code` of JSON-RPC responses. */
export const MCP_ERROR_CODES = {
  tool_not_found: {
    status: 404,
    type: 'not_found_error',
    description: 'The server has no such tool, or a rule hides it.',
  },
  tool_not_approved: {
    status: 403,
    type: refused,
    description: 'No definition of the tool has been approved.',
  },
  tool_changed: {
    status: 409,
    type: refused,
    description: 'The definition of the tool has changed, and the new one has not been approved.',
  },
  tool_server_not_found: {
    status: 404,
    type: 'not_found_error',
    description: 'There is no such tool server, or it is not enabled.',
  },
  tool_server_unavailable: {
    status: 503,
    type: 'provider_error',
    description: 'The tool server cannot be reached, fails, or has too many calls at once.',
  },
  tool_server_refused: {
    status: 502,
    type: 'provider_error',
    description: 'The tool server refused the credentials.',
  },
  tool_call_timeout: {
    status: 504,
    type: 'provider_error',
    description: 'The tool server did not answer in time.',
  },
  tool_result_too_large: {
    status: 502,
    type: 'provider_error',
    description: 'The result of the tool exceeds a limit.',
  },
  mcp_state_unavailable: {
    status: 503,
    type: 'service_unavailable_error',
    description: 'Sessions, and what they have read, cannot be looked up at the moment.',
  },
  mcp_session_not_found: {
    status: 404,
    type: 'not_found_error',
    description: 'The session has ended, or belongs to another caller. Begin again with initialize.',
  },
} satisfies Readonly<Record<string, ErrorDefinition>>

export const mcpError = errorsOf({ ...MCP_ERROR_CODES, ...TOOL_RULE_ERROR_CODES })

export function serverNotFoundError(name: string): Error {
  return mcpError('tool_server_not_found', `There is no tool server "${name}".`)
}
