import { chatBody } from './bodies.ts'
import type { TestUser } from './new-user.ts'

/**
 * A plugin that decides about the call of a tool in the last message of a chat request, and refuses the
 * request with the verdict as the message.
 */
export const TOOL_CALLER = `import { errorsOf, service } from 'signalbox'
const errorCodes = { decided: { status: 409, type: 'decided', of: 'inference', description: 'The verdict.' } }
export default {
  name: 'tool-caller', contract: 3, after: ['auth', 'plan'], before: ['dispatch'],
  uses: { tools: service('tool-rules') },
  setup: (_, { use: { tools } }) => ({
    errorCodes,
    async decide({ account, policies, rules, client, request }) {
      const text = request.messages.at(-1).content
      if (!text.startsWith('{')) return
      const { read, byDefault, ...call } = JSON.parse(text)
      const caller = { account, policies, rules, client }
      const verdict = await tools.decide(caller, { ...call, read: new Set(read) })
      const isListed = await tools.isListed(caller, call, byDefault)
      throw errorsOf(errorCodes)('decided', JSON.stringify({ ...verdict, isListed }))
    },
  }),
}`

export interface CalledTool {
  readonly server?: string
  readonly tool?: string
  readonly arguments?: object
  /** Names of servers whose results the session has read. */
  readonly read?: readonly string[]
  /** Whether the server allows what no rule decides about. */
  readonly byDefault?: boolean
}

const CALL = { server: 'files', tool: 'read', arguments: {}, read: [], byDefault: true }

/** What the gateway decides about a call, and whether it lists the tool. */
export async function decideTool(user: TestUser, call: CalledTool = {}) {
  const body = chatBody(JSON.stringify({ ...CALL, ...call }))
  const answer = await user.call('POST', '/v1/chat/completions', body)
  if (answer.status !== 409) throw new Error(JSON.stringify(answer.body))
  return JSON.parse(answer.body.error.message)
}
