import { expect } from 'chai'
import { AzureOpenAI } from 'openai'
import { type Sandbox, startSandbox } from '../../providers/sandbox/server.ts'
import { type RunningGateway, startGateway } from '../support/gateway.ts'
import { providersAt } from '../support/providers.ts'

describe('the paths of Azure OpenAI', () => {
  let sandbox: Sandbox
  let gateway: RunningGateway
  let client: AzureOpenAI

  before(async () => {
    sandbox = await startSandbox({ record: 1 })
    gateway = await startGateway(providersAt(sandbox))
    const { url: endpoint, demoKey: apiKey } = gateway
    client = new AzureOpenAI({ endpoint, apiKey, apiVersion: '2024-10-21', maxRetries: 0 })
  })
  after(async () => {
    await gateway?.stop()
    await sandbox?.close()
  })

  const messages = [{ role: 'user' as const, content: 'Which track?' }]

  it('serve the AzureOpenAI class of the SDK', async () => {
    const chat = await client.chat.completions.create({ model: 'claude-sonnet-4-6', messages })
    expect(chat.choices[0]?.message.content).to.contain('Which track?')
    expect(chat).to.include({ provider: 'anthropic' })
    const stream = await client.chat.completions.create({ model: 'gpt-4o', messages, stream: true })
    let text = ''
    for await (const chunk of stream) text += chunk.choices[0]?.delta.content ?? ''
    expect(text).to.contain('Which track?')
    const embedding = await client.embeddings.create({ model: 'mistral-embed', input: 'Track 9' })
    expect(embedding.data[0]?.embedding).to.have.length(1024)
    const response = await client.responses.create({ model: 'gpt-4o', input: 'Which track?' })
    expect(response.output_text).to.contain('Which track?')
    expect((await client.responses.retrieve(response.id)).id).to.equal(response.id)
    const text3 = await client.completions.create({ model: 'gpt-4o', prompt: 'Which track?' })
    expect(text3.choices[0]?.text).to.contain('Which track?')
    expect((await client.models.list()).data.map(({ id }) => id)).to.include('gpt-4o')
  })

  it('take the model from the deployment, which the path may encode', async () => {
    const send = (deployment: string, body: object) =>
      gateway.call(
        'POST',
        `/openai/deployments/${deployment}/chat/completions?api-version=2024-10-21`,
        { messages, ...body },
        { authorization: '', 'api-key': gateway.demoKey },
      )
    expect((await send('gpt-4o', { model: 'claude-sonnet-4-6' })).body.model).to.equal('gpt-4o')
    expect((await send('mistral%3Amistral-large-4', {})).body.provider).to.equal('mistral')
    expect((await send('auto%3Acost', {})).body.routing_mode).to.equal('cost')
    expect((await send('no-such-model', {})).body.error).to.include({ code: 'model_not_found' })
    expect((await send('%E0%A4%A', {})).status).to.be.oneOf([400, 404])
  })

  it('need a valid key, and refuse other query parameters where they have a meaning', async () => {
    const path = '/openai/deployments/gpt-4o/chat/completions'
    const headers = { authorization: '', 'api-key': 'tr_wrong' }
    expect((await gateway.call('POST', path, { messages }, headers)).status).to.equal(401)
    expect((await gateway.call('GET', '/openai/models?api-version=1&x=2')).status).to.equal(400)
    expect((await gateway.call('POST', '/openai/deployments/gpt-4o/images', {})).status).to.equal(404)
  })
})
