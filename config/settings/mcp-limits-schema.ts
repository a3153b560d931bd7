import { StrictObject, Type } from '../../core/contract/index.ts'

const bytes = (description: string) => Type.Integer({ minimum: 1024, maximum: 1_073_741_824, description })
const milliseconds = (description: string) => Type.Integer({ minimum: 1, maximum: 86_400_000, description })

/** The setting `mcp.limits`: limits of all tool servers (docs/guides/mcp.md). */
export const McpLimits = StrictObject({
  connect_ms: milliseconds('How long a connection to a tool server may take.'),
  call_timeout_ms: milliseconds(
    'How long a tool server may be silent during a call. Progress that it reports starts the time anew.',
  ),
  max_call_ms: milliseconds('How long a call may take at most.'),
  max_concurrent: Type.Integer({
    minimum: 1,
    maximum: 100_000,
    description: 'Calls of a tool server at once, in each process.',
  }),
  max_request_bytes: bytes('Size of a message of a client.'),
  max_result_bytes: bytes('Size of a result that is passed on as it arrives.'),
  max_inspected_bytes: bytes('Size of a result that firewall rules inspect. It is kept in memory.'),
  max_program_result_bytes: bytes('Size of a result of a program. It is kept in memory.'),
  list_seconds: Type.Integer({
    minimum: 0,
    maximum: 86_400,
    description: 'Seconds for which lists of tools, prompts and resources are kept.',
  }),
})
