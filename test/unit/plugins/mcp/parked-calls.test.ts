import { expect } from 'chai'
import type { JsonValue } from '../../../../core/contract/index.ts'
import type { ClientContext } from '../../../../plugins/mcp/front/client-context.ts'
import { createMailbox } from '../../../../plugins/mcp/front/mailbox.ts'
import { createParkedCalls, type ParkableCall } from '../../../../plugins/mcp/front/parked-calls.ts'
import { type Answer, resultAnswer } from '../../../../plugins/mcp/front/respond.ts'
import { ownerOf } from '../../../../plugins/mcp/front/sessions.ts'

const PARAMS = { name: 'tool', arguments: {} }
const QUESTION = { mode: 'form', message: 'Name?' }

const contextOf = (userId: number) =>
  ({
    caller: { account: { userId, keyId: `key_${userId}` } },
    capabilities: { elicitation: {} },
  }) as unknown as ClientContext

/** Two processes with one store. */
function createProcesses() {
  const records = new Map<string, unknown>()
  const store = {
    get: async (key: string) => records.get(key),
    set: async (key: string, value: JsonValue) => void records.set(key, value),
    delete: async (key: string) => void records.delete(key),
  }
  return [
    createParkedCalls(createMailbox(store, true)),
    createParkedCalls(createMailbox(store, true)),
  ] as const
}

/** Parks a call of user 1 in a process. Resolves to the state that the client must send back. */
async function park(calls: ReturnType<typeof createParkedCalls>): Promise<string> {
  const { signal } = new AbortController()
  const context = contextOf(1)
  const interrupted = new Promise<Answer>((resolve) => {
    const call: ParkableCall = {
      channel: { send: () => undefined, interrupt: resolve },
      id: 1,
      owner: ownerOf(context.caller.account),
      params: PARAMS,
      finished: Promise.resolve({ status: 200, message: undefined }),
      answer: undefined,
      attach: () => undefined,
    }
    const asked = calls.ask(context, call, signal)('elicitation/create', QUESTION)
    call.finished = asked.then((answer) => resultAnswer(call.id, answer))
  })
  const { result } = JSON.parse(String((await interrupted).message))
  expect(result.resultType).to.equal('input_required')
  expect(result.inputRequests).to.deep.equal({ input: { method: 'elicitation/create', params: QUESTION } })
  return result.requestState
}

describe('calls that wait for input', () => {
  const answers = { inputResponses: { input: { action: 'accept' } } }
  const channel = { send: () => undefined, interrupt: () => undefined }
  const { signal } = new AbortController()

  for (const [title, index] of [
    ['the same process', 0],
    ['another process', 1],
  ] as const) {
    it(`go on when the repetition comes to ${title}`, async () => {
      const processes = createProcesses()
      const requestState = await park(processes[0])
      const params = { ...PARAMS, ...answers, requestState }
      const answer = await processes[index].resume(contextOf(1), params, 'again', channel, signal)
      const { id, result } = JSON.parse(String(answer?.message))
      expect({ id, result }).to.deep.equal({ id: 'again', result: { result: { action: 'accept' } } })
    })

    it(`refuse what another caller, or another call, sends to ${title}`, async () => {
      for (const [userId, name] of [
        [2, 'tool'],
        [1, 'other'],
      ] as const) {
        const processes = createProcesses()
        const requestState = await park(processes[0])
        const params = { ...PARAMS, ...answers, name, requestState }
        const resume = async () => processes[index].resume(contextOf(userId), params, 2, channel, signal)
        const refused = await resume().then(
          (answer) => JSON.parse(String(answer?.message)).error.message,
          (error: Error) => error.message,
        )
        expect(refused).to.match(/belongs to another request/)
      }
    })
  }

  it('are told to call again when the call is gone', async () => {
    const [first] = createProcesses()
    const params = { ...PARAMS, ...answers, requestState: `sb-${'0'.repeat(22)}` }
    const failed = await first
      .resume(contextOf(1), params, 2, channel, signal)
      ?.catch((error: Error) => error.message)
    expect(failed).to.match(/Call again/)
    expect(
      first.resume(contextOf(1), { ...params, requestState: 'a state of the server' }, 2, channel, signal),
    ).to.equal(undefined)
  })
})
