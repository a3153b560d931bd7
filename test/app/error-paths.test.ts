import { expect } from 'chai'
import { type Sandbox, startSandbox } from '../../providers/sandbox/server.ts'
import { type RunningGateway, startGateway } from '../support/gateway.ts'
import { MODELS, providersAt } from '../support/providers.ts'

const FILE = { type: 'input_file', file_data: 'data:application/msword;base64,eHg=', filename: 'a.doc' }
const BAD_IMAGE = { type: 'input_image', detail: 'auto', image_url: 'ftp://host/a.png' }
const BAD_CALL = { type: 'function_call', call_id: 'c1', name: 'weather', arguments: '\u00a0{}' }
const RESULT = { type: 'function_call_output', call_id: 'c1', output: 'rain' }
const REASONING = { type: 'reasoning', id: 'rs_1', summary: [] }

const said = (role: string, ...content: object[]) => ({ type: 'message', role, content })
const text = (role: string) => ({ role, content: 'Hm' })

/** By the path that the error must name: a request that a provider's format cannot express. */
const REFUSED: Readonly<Record<string, object>> = {
  'input[0].content[0].file_data': { model: MODELS.anthropic, input: [said('user', FILE)] },
  'input[1].content[1].file_data': {
    ...{ model: MODELS.anthropic, instructions: 'Be brief.' },
    input: [text('user'), said('user', { type: 'input_text', text: 'Hm' }, FILE)],
  },
  'input[0].content[0].image_url': { model: MODELS.anthropic, input: [said('user', BAD_IMAGE)] },
  'input[4].arguments': {
    model: MODELS.anthropic,
    input: [
      ...[text('user'), REASONING, text('assistant')],
      ...[{ ...BAD_CALL, call_id: 'c0', arguments: '{}' }, BAD_CALL, { ...RESULT, call_id: 'c0' }, RESULT],
    ],
  },
  'input[1].call_id': { model: MODELS.gemini, input: [text('user'), RESULT] },
  'reasoning.effort': { model: MODELS.anthropic, input: 'Hm', reasoning: { effort: 'most' } },
}

describe('errors about requests', () => {
  let sandbox: Sandbox
  let gateway: RunningGateway

  before(async () => {
    sandbox = await startSandbox({})
    gateway = await startGateway(providersAt(sandbox))
  })
  after(async () => {
    await gateway?.stop()
    await sandbox?.close()
  })

  for (const [path, request] of Object.entries(REFUSED)) {
    it(`name ${path}, as the caller of /v1/responses wrote it`, async () => {
      for (const stream of [false, true]) {
        const { status, body } = await gateway.call('POST', '/v1/responses', { ...request, stream })
        expect(status, JSON.stringify(body)).to.equal(400)
        expect(body.error.param).to.equal(path)
        expect(body.error.message).to.include(path)
        expect(body.error.message).not.to.match(/messages\[|tool_calls\[|reasoning_effort/)
      }
    })
  }

  it('name the previous response if one of its items is the cause', async () => {
    const first = { model: MODELS.openai, input: [said('user', FILE)] }
    const { body: response } = await gateway.call('POST', '/v1/responses', first)
    const next = { model: MODELS.anthropic, input: 'Hm', previous_response_id: response.id }
    const { status, body } = await gateway.call('POST', '/v1/responses', next)
    expect(status).to.equal(400)
    expect(body.error.param).to.equal('previous_response_id')
  })
})
