import { writeFile } from 'node:fs/promises'
import path from 'node:path'
import Anthropic from '@anthropic-ai/sdk'
import { expect } from 'chai'
import { dump } from 'js-yaml'
import { setAwsEnvironment } from '../support/aws-environment.ts'
import { makeFolder } from '../support/folders.ts'
import { type RunningGateway, startGateway } from '../support/gateway.ts'
import { readBlocks } from '../support/pages.ts'
import { whyNoCloudLibrary } from '../support/python.ts'
import {
  chunkFrame,
  frame,
  type ScriptedBedrock,
  startScriptedBedrock,
  verifySignatures,
} from '../support/scripted-bedrock.ts'
import { writeSettings } from '../support/settings-file.ts'
import { skip } from '../support/skip.ts'

const ACCESS_KEY = 'AKIACANARY0000000001'
const SECRET_KEY = 'canary/secret+key/of/aws'
const REGION = 'eu-central-1'
const CLAUDE = 'eu.anthropic.claude-sonnet-4-5-20250929-v1:0'
const PROFILE_ARN = `arn:aws:bedrock:${REGION}:123456789012:inference-profile/${CLAUDE}`
const NOVA = 'eu.amazon.nova-pro-v1:0'

const CLAUDE_USAGE = {
  input_tokens: 7,
  output_tokens: 5,
  cache_read_input_tokens: 100,
  cache_creation_input_tokens: 20,
}
const CLAUDE_CONTENT = [
  { type: 'thinking', thinking: 'Which one?', signature: 'c2lnbmVk' },
  { type: 'text', text: 'Track 9' },
]
const CLAUDE_REPLY = {
  id: 'msg_1',
  type: 'message',
  role: 'assistant',
  model: 'claude-sonnet-4-5',
  content: CLAUDE_CONTENT,
  stop_reason: 'end_turn',
  stop_sequence: null,
  usage: CLAUDE_USAGE,
}
const CLAUDE_EVENTS = [
  { type: 'message_start', message: { ...CLAUDE_REPLY, content: [], stop_reason: null } },
  { type: 'content_block_start', index: 0, content_block: { type: 'thinking', thinking: '' } },
  { type: 'content_block_delta', index: 0, delta: { type: 'thinking_delta', thinking: 'Which one?' } },
  { type: 'content_block_delta', index: 0, delta: { type: 'signature_delta', signature: 'c2lnbmVk' } },
  { type: 'content_block_stop', index: 0 },
  { type: 'content_block_start', index: 1, content_block: { type: 'text', text: '' } },
  { type: 'content_block_delta', index: 1, delta: { type: 'text_delta', text: 'Track ' } },
  { type: 'content_block_delta', index: 1, delta: { type: 'text_delta', text: '9' } },
  { type: 'content_block_stop', index: 1 },
  { type: 'message_delta', delta: { stop_reason: 'end_turn' }, usage: { output_tokens: 5 } },
  { type: 'message_stop' },
]

const CONVERSE_USAGE = {
  inputTokens: 7,
  outputTokens: 5,
  totalTokens: 132,
  cacheReadInputTokens: 100,
  cacheWriteInputTokens: 20,
}
const CONVERSE_REPLY = {
  output: {
    message: {
      role: 'assistant',
      content: [
        { text: 'Track 9' },
        { toolUse: { toolUseId: 'tooluse_1', name: 'set_signal', input: { aspect: 'clear' } } },
      ],
    },
  },
  stopReason: 'tool_use',
  usage: CONVERSE_USAGE,
  metrics: { latencyMs: 3 },
}
const CONVERSE_EVENTS = [
  frame('messageStart', { role: 'assistant' }),
  frame('contentBlockDelta', { contentBlockIndex: 0, delta: { text: 'Track ' }, p: 'ab' }),
  frame('contentBlockDelta', { contentBlockIndex: 0, delta: { text: '9' } }),
  frame('contentBlockStop', { contentBlockIndex: 0 }),
  frame('contentBlockStart', {
    contentBlockIndex: 1,
    start: { toolUse: { toolUseId: 'tooluse_1', name: 'set_signal' } },
  }),
  frame('contentBlockDelta', { contentBlockIndex: 1, delta: { toolUse: { input: '{"aspect":' } } }),
  frame('contentBlockDelta', { contentBlockIndex: 1, delta: { toolUse: { input: '"clear"}' } } }),
  frame('contentBlockStop', { contentBlockIndex: 1 }),
  frame('messageStop', { stopReason: 'tool_use' }),
  frame('metadata', { usage: CONVERSE_USAGE, metrics: { latencyMs: 3 } }),
]

const MESSAGES = [{ role: 'user' as const, content: 'Which track?' }]
const TOOL = {
  type: 'function' as const,
  function: {
    name: 'set_signal',
    parameters: { type: 'object', properties: { aspect: { type: 'string' } } },
  },
}

describe('format: bedrock', () => {
  let bedrock: ScriptedBedrock
  let gateway: RunningGateway
  let restore: () => void

  beforeEach(async () => {
    bedrock = await startScriptedBedrock()
    restore = setAwsEnvironment({
      AWS_ACCESS_KEY_ID: ACCESS_KEY,
      AWS_SECRET_ACCESS_KEY: SECRET_KEY,
      AWS_ENDPOINT_URL_BEDROCK_RUNTIME: bedrock.url,
    })
    await start()
  })
  afterEach(async () => {
    await gateway?.stop()
    bedrock.close()
    restore()
  })

  async function start(row: object = {}): Promise<void> {
    const bedrock = {
      format: 'bedrock',
      auth: 'aws',
      region: REGION,
      capabilities: { json: 'schema' },
      ...row,
    }
    const CONFIG = await writeSettings(
      dump({ providers: { bedrock }, rate_limits: { requests_per_minute: { free: null, paid: null } } }),
    )
    gateway = await startGateway({ CONFIG })
  }

  const lastBody = () => JSON.parse(String(bedrock.received.at(-1)?.bytes))
  const ask = (model: string, fields: object = {}) =>
    gateway.call('POST', '/v1/chat/completions', {
      model: `bedrock:${model}`,
      messages: MESSAGES,
      ...fields,
    })
  const anthropic = () => new Anthropic({ baseURL: gateway.url, apiKey: gateway.demoKey, maxRetries: 0 })

  async function expectSigned(): Promise<void> {
    const keys = { access_key: ACCESS_KEY, secret_key: SECRET_KEY, region: REGION }
    const valid = await verifySignatures(bedrock, keys)
    expect(valid).to.deep.equal(bedrock.received.map(() => true))
    expect(valid.length).to.be.greaterThan(0)
    const wrong = await verifySignatures(bedrock, { ...keys, secret_key: 'another' })
    expect(wrong).to.deep.equal(bedrock.received.map(() => false))
  }

  it('signs requests as botocore does, also for ARNs, whose path is encoded twice', async function () {
    const reason = whyNoCloudLibrary('botocore')
    if (reason !== undefined) skip(this, reason)
    bedrock.play({ body: CLAUDE_REPLY })
    expect((await ask(CLAUDE, { messages: [{ role: 'user', content: 'Grüße 🚂' }] })).status).to.equal(200)
    expect((await ask(PROFILE_ARN)).status).to.equal(200)
    bedrock.play({ body: CONVERSE_REPLY })
    expect((await ask(NOVA)).status).to.equal(200)
    expect(bedrock.received.map(({ path }) => path)).to.deep.equal([
      `/model/${encodeURIComponent(CLAUDE)}/invoke`,
      `/model/${encodeURIComponent(PROFILE_ARN)}/invoke`,
      `/model/${encodeURIComponent(NOVA)}/converse`,
    ])
    await expectSigned()
  })

  it('assumes a role with the credentials found, and signs with those of the role', async function () {
    const reason = whyNoCloudLibrary('botocore')
    if (reason !== undefined) skip(this, reason)
    await gateway.stop()
    process.env.AWS_ENDPOINT_URL_STS = bedrock.url
    const Expiration = new Date(Date.now() + 3_600_000).toISOString()
    bedrock.play((sent) =>
      sent.path === '/'
        ? {
            headers: { 'content-type': 'text/xml' },
            body: `<AssumeRoleResponse><AssumeRoleResult><Credentials><AccessKeyId>ASIAROLE</AccessKeyId>
              <SecretAccessKey>role/secret</SecretAccessKey><SessionToken>the+token==</SessionToken>
              <Expiration>${Expiration}</Expiration></Credentials></AssumeRoleResult></AssumeRoleResponse>`,
          }
        : { body: CLAUDE_REPLY },
    )
    await start({ role_arn: 'arn:aws:iam::123456789012:role/models' })
    expect((await ask(CLAUDE)).status).to.equal(200)
    expect((await ask(CLAUDE)).status).to.equal(200)
    const [sts, ...requests] = bedrock.received
    expect(requests).to.have.length(2)
    expect(String(sts?.bytes)).to.contain('RoleArn=arn%3Aaws%3Aiam%3A%3A123456789012%3Arole%2Fmodels')
    for (const { headers } of requests) expect(headers['x-amz-security-token']).to.equal('the+token==')
    const role = { access_key: 'ASIAROLE', secret_key: 'role/secret', region: REGION }
    expect(await verifySignatures(bedrock, role)).to.deep.equal([false, true, true])
    const own = { access_key: ACCESS_KEY, secret_key: SECRET_KEY, region: REGION }
    expect(await verifySignatures(bedrock, own)).to.deep.equal([true, false, false])
  })

  it('calls the endpoint of the environment, also below a path, with the token of a session', async function () {
    const reason = whyNoCloudLibrary('botocore')
    if (reason !== undefined) skip(this, reason)
    bedrock.play({ body: CONVERSE_REPLY })
    const ODD = "arn:aws:bedrock:eu-central-1:1:application-inference-profile/a+b~c*(d)'!%2F"
    process.env.AWS_SESSION_TOKEN = 'a+session/token=='
    const all = process.env.AWS_ENDPOINT_URL_BEDROCK_RUNTIME
    for (const [variables, row, prefix] of [
      [{ AWS_ENDPOINT_URL_BEDROCK_RUNTIME: `${all}/vpc/path/` }, {}, '/vpc/path'],
      [{ AWS_ENDPOINT_URL_BEDROCK_RUNTIME: '', AWS_ENDPOINT_URL: `${all}/` }, {}, ''],
      [{ AWS_ENDPOINT_URL_BEDROCK_RUNTIME: 'http://127.0.0.1:1' }, { base_url: `${all}/own` }, '/own'],
    ] as const) {
      await gateway.stop()
      Object.assign(process.env, variables)
      await start(row)
      expect((await ask(ODD)).status).to.equal(200)
      const sent = bedrock.received.at(-1)
      expect(sent?.path).to.equal(`${prefix}/model/${encodeURIComponent(ODD)}/converse`)
      expect(sent?.headers['x-amz-security-token']).to.equal('a+session/token==')
    }
    await expectSigned()
  })

  it('signs streams with the credentials of a profile', async function () {
    const reason = whyNoCloudLibrary('botocore')
    if (reason !== undefined) skip(this, reason)
    await gateway.stop()
    const file = path.join(await makeFolder(), 'credentials')
    await writeFile(file, '[models]\naws_access_key_id = AKIAPROFILE\naws_secret_access_key = of/profile\n')
    process.env.AWS_SHARED_CREDENTIALS_FILE = file
    delete process.env.AWS_ACCESS_KEY_ID
    bedrock.play({ body: Buffer.concat(CLAUDE_EVENTS.map(chunkFrame)) })
    await start({ profile: 'models' })
    const request = { model: `bedrock:${CLAUDE}`, max_tokens: 100, messages: MESSAGES }
    const { content } = await anthropic().messages.stream(request).finalMessage()
    expect(content).to.deep.equal(CLAUDE_CONTENT)
    const keys = { access_key: 'AKIAPROFILE', secret_key: 'of/profile', region: REGION }
    expect(await verifySignatures(bedrock, keys)).to.deep.equal([true])
  })

  it('says which step failed if there are no credentials, or if the role is refused', async () => {
    await gateway.stop()
    process.env.AWS_ENDPOINT_URL_STS = bedrock.url
    const body = '<ErrorResponse><Error><Code>AccessDenied</Code></Error></ErrorResponse>'
    bedrock.play({ status: 403, body })
    await start({ role_arn: 'arn:aws:iam::123456789012:role/models' })
    const refused = await ask(CLAUDE)
    expect(refused.status).to.equal(502)
    expect(refused.headers.get('x-error-code')).to.equal('provider_authentication_error')
    expect(refused.body.error.message).to.contain('assuming the role failed')
    await gateway.stop()
    delete process.env.AWS_ACCESS_KEY_ID
    await start()
    const missing = await ask(CLAUDE)
    expect(missing.headers.get('x-error-code')).to.equal('provider_authentication_error')
    expect(missing.body.error.message).to.contain('finding credentials of AWS failed')
    expect(JSON.stringify([refused.body, missing.body]) + gateway.stderr()).not.to.contain(SECRET_KEY)
  })

  it("sends Claude Anthropic's own request: thinking, caching and betas survive", async () => {
    bedrock.play({ body: CLAUDE_REPLY })
    const system = [
      { type: 'text' as const, text: 'Be brief.', cache_control: { type: 'ephemeral' as const } },
    ]
    const message = await anthropic().messages.create(
      {
        model: `bedrock:${CLAUDE}`,
        max_tokens: 3000,
        thinking: { type: 'enabled', budget_tokens: 2000 },
        system,
        messages: MESSAGES,
      },
      { headers: { 'anthropic-beta': 'interleaved-thinking-2025-05-14' } },
    )
    expect(lastBody()).to.deep.equal({
      anthropic_version: 'bedrock-2023-05-31',
      anthropic_beta: ['interleaved-thinking-2025-05-14'],
      max_tokens: 3000,
      thinking: { type: 'enabled', budget_tokens: 2000 },
      system,
      messages: [{ role: 'user', content: [{ type: 'text', text: 'Which track?' }] }],
    })
    expect(message.content).to.deep.equal(CLAUDE_CONTENT)
    expect(message.usage).to.include(CLAUDE_USAGE)
  })

  it("streams Claude, to Anthropic's and OpenAI's clients", async () => {
    bedrock.play({ body: Buffer.concat(CLAUDE_EVENTS.map(chunkFrame)) })
    const message = await anthropic()
      .messages.stream({ model: `bedrock:${CLAUDE}`, max_tokens: 100, messages: MESSAGES })
      .finalMessage()
    expect(bedrock.received.at(-1)?.path).to.contain('/invoke-with-response-stream')
    expect(lastBody()).not.to.have.any.keys('model', 'stream')
    expect(message.content).to.deep.equal(CLAUDE_CONTENT)
    expect(message.usage).to.include(CLAUDE_USAGE)
    const stream = gateway.openai().chat.completions.stream({
      model: `bedrock:${CLAUDE}`,
      messages: MESSAGES,
      stream_options: { include_usage: true },
    })
    const { choices, usage } = await stream.finalChatCompletion()
    expect(choices[0]?.message.content).to.equal('Track 9')
    expect(usage).to.deep.include({ prompt_tokens: 127, completion_tokens: 5 })
    expect(usage?.prompt_tokens_details?.cached_tokens).to.equal(100)
  })

  it('sends other models requests of Converse', async () => {
    bedrock.play({ body: CONVERSE_REPLY })
    const png = 'iVBORw0KGgo='
    const { status, body } = await ask(NOVA, {
      messages: [
        {
          role: 'system',
          content: [{ type: 'text', text: 'Be brief.', cache_control: { type: 'ephemeral' } }],
        },
        {
          role: 'user',
          content: [
            { type: 'text', text: 'Which track?' },
            { type: 'image_url', image_url: { url: `data:image/png;base64,${png}` } },
          ],
        },
        {
          role: 'assistant',
          content: null,
          tool_calls: [
            {
              id: 'tooluse_0',
              type: 'function',
              function: { name: 'set_signal', arguments: '{"aspect":"stop"}' },
            },
          ],
        },
        { role: 'tool', tool_call_id: 'tooluse_0', content: 'done' },
      ],
      tools: [TOOL],
      tool_choice: 'required',
      temperature: 0.5,
      top_p: 0.9,
      max_tokens: 50,
      stop: ['END'],
    })
    expect(status, JSON.stringify(body)).to.equal(200)
    expect(lastBody()).to.deep.equal({
      system: [{ text: 'Be brief.' }, { cachePoint: { type: 'default' } }],
      messages: [
        {
          role: 'user',
          content: [{ text: 'Which track?' }, { image: { format: 'png', source: { bytes: png } } }],
        },
        {
          role: 'assistant',
          content: [{ toolUse: { toolUseId: 'tooluse_0', name: 'set_signal', input: { aspect: 'stop' } } }],
        },
        { role: 'user', content: [{ toolResult: { toolUseId: 'tooluse_0', content: [{ text: 'done' }] } }] },
      ],
      inferenceConfig: { maxTokens: 50, temperature: 0.5, topP: 0.9, stopSequences: ['END'] },
      toolConfig: {
        tools: [{ toolSpec: { name: 'set_signal', inputSchema: { json: TOOL.function.parameters } } }],
        toolChoice: { any: {} },
      },
    })
    const [choice] = body.choices
    expect(choice.finish_reason).to.equal('tool_calls')
    expect(choice.message.content).to.equal('Track 9')
    expect(choice.message.tool_calls[0].function).to.deep.equal({
      name: 'set_signal',
      arguments: '{"aspect":"clear"}',
    })
    expect(body.usage).to.deep.include({ prompt_tokens: 127, completion_tokens: 5 })
  })

  it('streams other models by ConverseStream', async () => {
    bedrock.play({ body: Buffer.concat(CONVERSE_EVENTS) })
    const stream = gateway.openai().chat.completions.stream({
      model: `bedrock:${NOVA}`,
      messages: MESSAGES,
      tools: [TOOL],
      stream_options: { include_usage: true },
    })
    const { choices, usage } = await stream.finalChatCompletion()
    expect(bedrock.received.at(-1)?.path).to.contain('/converse-stream')
    expect(choices[0]?.finish_reason).to.equal('tool_calls')
    expect(choices[0]?.message.content).to.equal('Track 9')
    expect(choices[0]?.message.tool_calls?.[0]).to.deep.include({ id: 'tooluse_1' })
    expect(usage).to.deep.include({ prompt_tokens: 127, completion_tokens: 5 })
    const message = await anthropic()
      .messages.stream({ model: `bedrock:${NOVA}`, max_tokens: 100, messages: MESSAGES })
      .finalMessage()
    expect(message.content.map(({ type }) => type)).to.deep.equal(['text', 'tool_use'])
    expect(message.usage).to.include(CLAUDE_USAGE)
  })

  it('carries signed reasoning of Converse to the client and back', async () => {
    const reasoningText = { text: 'Which one?', signature: 'c2lnbmVk' }
    const ofBlock = (contentBlockIndex: number, delta: object) =>
      frame('contentBlockDelta', { contentBlockIndex, delta })
    bedrock.play({
      body: Buffer.concat([
        frame('messageStart', { role: 'assistant' }),
        ofBlock(0, { reasoningContent: { text: 'Which one?' } }),
        ofBlock(0, { reasoningContent: { signature: 'c2lnbmVk' } }),
        frame('contentBlockStop', { contentBlockIndex: 0 }),
        ofBlock(1, { text: 'Track 9' }),
        frame('contentBlockStop', { contentBlockIndex: 1 }),
        frame('messageStop', { stopReason: 'end_turn' }),
        frame('metadata', { usage: CONVERSE_USAGE }),
      ]),
    })
    const request = { model: `bedrock:${NOVA}`, max_tokens: 100 }
    const streamed = await anthropic()
      .messages.stream({ ...request, messages: MESSAGES })
      .finalMessage()
    expect(streamed.content).to.deep.equal(CLAUDE_CONTENT)
    const content = [{ reasoningContent: { reasoningText } }, { text: 'Track 9' }]
    const output = { message: { role: 'assistant', content } }
    bedrock.play({ body: { ...CONVERSE_REPLY, output, stopReason: 'end_turn' } })
    const whole = await anthropic().messages.create({
      ...request,
      messages: [
        ...MESSAGES,
        { role: 'assistant', content: streamed.content },
        { role: 'user', content: 'Why?' },
      ],
    })
    expect(lastBody().messages[1]).to.deep.equal({ role: 'assistant', content })
    expect(whole.content).to.deep.equal(CLAUDE_CONTENT)
  })

  it("keeps Claude's signed thinking over two turns, and marks of the cache on tools and turns", async () => {
    bedrock.play({ body: CLAUDE_REPLY })
    const mark = { cache_control: { type: 'ephemeral' as const, ttl: '1h' as const } }
    const tool = { name: 'set_signal', input_schema: { type: 'object' as const, properties: {} }, ...mark }
    const request = {
      model: `bedrock:${CLAUDE}`,
      max_tokens: 3000,
      thinking: { type: 'enabled' as const, budget_tokens: 2000 },
      tools: [tool],
    }
    const { content } = await anthropic().messages.create({ ...request, messages: MESSAGES })
    const messages = [
      { role: 'user' as const, content: [{ type: 'text' as const, text: 'Which track?', ...mark }] },
      { role: 'assistant' as const, content },
      { role: 'user' as const, content: [{ type: 'text' as const, text: 'Why?' }] },
    ]
    await anthropic().messages.create({ ...request, messages })
    expect(lastBody().messages).to.deep.equal(messages)
    expect(lastBody().tools).to.deep.equal([tool])
    bedrock.play({ body: CONVERSE_REPLY })
    const { thinking: _, ...plain } = request
    await anthropic().messages.create({ ...plain, model: `bedrock:${NOVA}`, messages })
    const cachePoint = { type: 'default', ttl: '1h' }
    expect(lastBody().messages[0].content).to.deep.equal([{ text: 'Which track?' }, { cachePoint }])
    expect(lastBody().toolConfig.tools).to.deep.equal([
      { toolSpec: { name: 'set_signal', inputSchema: { json: { type: 'object', properties: {} } } } },
      { cachePoint },
    ])
  })

  it('sends images in the formats that Converse names', async () => {
    bedrock.play({ body: CONVERSE_REPLY })
    for (const [type, data, format] of [
      ['image/jpg', '/9j/4AAQ', 'jpeg'],
      ['image/jpeg', '/9j/4AAQ', 'jpeg'],
      ['image/gif', 'R0lGODlh', 'gif'],
    ]) {
      const url = `data:${type};base64,${data}`
      const content = [{ type: 'image_url', image_url: { url } }]
      const { status, body } = await ask(NOVA, { messages: [{ role: 'user', content }] })
      expect(status, JSON.stringify(body)).to.equal(200)
      expect(lastBody().messages[0].content[0].image.format).to.equal(format)
    }
    const content = [{ type: 'image_url', image_url: { url: 'https://rail.example/signal.png' } }]
    const { status, body } = await ask(NOVA, { messages: [{ role: 'user', content }] })
    expect(status).to.equal(400)
    expect(body.error.message).to.contain('base64')
  })

  it('gives documents names that Converse takes, each another', async () => {
    bedrock.play({ body: CONVERSE_REPLY })
    const file_data = `data:application/pdf;base64,${Buffer.from('%PDF-1.4').toString('base64')}`
    const names = ['Plan.pdf', 'plan pdf', 'Grüße_1.pdf', '분기보고서', undefined, 'x'.repeat(300)]
    const content = [
      { type: 'text', text: 'Compare.' },
      ...names.map((filename) => ({ type: 'file', file: { file_data, filename } })),
    ]
    const { status, body } = await ask(NOVA, { messages: [{ role: 'user', content }] })
    expect(status, JSON.stringify(body)).to.equal(200)
    const sent = lastBody().messages[0].content.slice(1)
    expect(sent.map((block: { document: { name: string } }) => block.document.name)).to.deep.equal([
      ...['Plan pdf', 'plan pdf 2', 'Gr e 1 pdf', 'document', 'document 2', 'x'.repeat(190)],
    ])
  })

  it('asks for JSON by the schema, or by a tool where the model takes no schema', async () => {
    const schema = { type: 'object', properties: { track: { type: 'integer' } }, required: ['track'] }
    const response_format = { type: 'json_schema', json_schema: { name: 'answer', schema } }
    const output = { message: { role: 'assistant', content: [{ text: '{"track":9}' }] } }
    bedrock.play({ body: { ...CONVERSE_REPLY, output, stopReason: 'end_turn' } })
    await ask('qwen.qwen3-32b-v1:0', { response_format })
    const { type, structure } = lastBody().outputConfig.textFormat
    expect(type).to.equal('json_schema')
    expect(JSON.parse(structure.jsonSchema.schema).required).to.deep.equal(['track'])
    bedrock.play(({ bytes }) => {
      const { name } = JSON.parse(String(bytes)).toolConfig.toolChoice.tool
      const content = [{ toolUse: { toolUseId: 't', name, input: { track: 9 } } }]
      return { body: { ...CONVERSE_REPLY, output: { message: { role: 'assistant', content } } } }
    })
    const { body } = await ask(NOVA, { response_format })
    expect(body.choices[0].message.content).to.equal('{"track":9}')
    expect(body.choices[0].finish_reason).to.equal('stop')
  })

  for (const stopReason of ['guardrail_intervened', 'content_filtered'])
    it(`reports ${stopReason} as filtered content`, async () => {
      bedrock.play({ body: { ...CONVERSE_REPLY, stopReason } })
      expect((await ask(NOVA)).body.choices[0].finish_reason).to.equal('content_filter')
    })

  it('reports a reply of Claude that a guardrail replaced as filtered content', async () => {
    const flag = { 'amazon-bedrock-guardrailAction': 'INTERVENED' }
    bedrock.play({ body: { ...CLAUDE_REPLY, ...flag } })
    expect((await ask(CLAUDE)).body.choices[0].finish_reason).to.equal('content_filter')
    bedrock.play({ body: { ...CLAUDE_REPLY, 'amazon-bedrock-guardrailAction': 'NONE' } })
    expect((await ask(CLAUDE)).body.choices[0].finish_reason).to.equal('stop')
    const textOf = (text: string) => ({
      ...{ type: 'content_block_delta', index: 1, delta: { type: 'text_delta', text } },
    })
    const streamed = async (events: readonly object[]) => {
      bedrock.play({ body: Buffer.concat(events.map(chunkFrame)) })
      const request = { model: `bedrock:${CLAUDE}`, max_tokens: 100, messages: MESSAGES }
      return anthropic().messages.stream(request).finalMessage()
    }
    for (const flagged of [0, 6, CLAUDE_EVENTS.length - 1]) {
      const events = CLAUDE_EVENTS.map((event, i) => (i === flagged ? { ...event, ...flag } : event))
      const message = await streamed(events)
      expect(message.stop_reason, `event ${flagged}`).to.equal('refusal')
      expect(message.usage.output_tokens).to.equal(5)
    }
    // What a model writes is no intervention.
    const quoted = CLAUDE_EVENTS.map((event, i) => (i === 6 ? textOf(JSON.stringify(flag)) : event))
    expect((await streamed(quoted)).stop_reason).to.equal('end_turn')
  })

  it('sends 96 texts per request to Cohere and one to Titan, and counts their tokens', async () => {
    const input = Array.from({ length: 100 }, (_, i) => `text ${i}`)
    const embed = (model: string) =>
      gateway.call('POST', '/v1/embeddings', { model: `bedrock:${model}`, input })
    for (const model of [
      'cohere.embed-v4:0',
      `arn:aws:bedrock:${REGION}::foundation-model/cohere.embed-multilingual-v3`,
    ]) {
      bedrock.received.length = 0
      bedrock.play(({ bytes }) => {
        const { texts } = JSON.parse(String(bytes))
        return { body: { embeddings: { float: texts.map((text: string) => [Number(text.slice(5))]) } } }
      })
      const { status, body } = await embed(model)
      expect(status, JSON.stringify(body)).to.equal(200)
      expect(bedrock.received.map(({ bytes }) => JSON.parse(String(bytes)).texts.length)).to.deep.equal([
        96, 4,
      ])
      expect(body.data.map((own: { embedding: unknown }) => own.embedding)).to.deep.equal(
        input.map((_, i) => [i]),
      )
    }
    bedrock.received.length = 0
    bedrock.play({ body: { embedding: [1], inputTextTokenCount: 3 } })
    const { body } = await embed('amazon.titan-embed-text-v2:0')
    expect(bedrock.received).to.have.length(100)
    expect(body.usage.prompt_tokens).to.equal(300)
  })

  it('says that the account has no access to a model, without naming its role', async () => {
    const message =
      'Model access is denied due to arn:aws:iam::123456789012:role/s3cret is not authorized to perform: ' +
      'aws-marketplace:Subscribe on resource: *'
    const headers = { 'x-amzn-errortype': 'AccessDeniedException' }
    bedrock.play({ status: 403, headers, body: { Message: message } })
    const { status, body } = await ask(CLAUDE)
    expect(status).to.equal(404)
    expect(body.error.message).to.contain('Model access').and.not.contain('s3cret')
  })

  it('ends a stream in which an exception arrives with its error, after what came before', async () => {
    const message = 'Too many requests'
    const faults = [
      ['throttlingException', 'rate limiting'],
      ['modelStreamErrorException', 'server error'],
    ] as const
    for (const [name, said] of faults)
      for (const [model, before] of [
        [CLAUDE, CLAUDE_EVENTS.slice(0, 7).map(chunkFrame)],
        [NOVA, CONVERSE_EVENTS.slice(0, 2)],
      ] as const) {
        let fail = (_: Buffer) => {}
        const later = new Promise<Buffer>((resolve) => {
          fail = resolve
        })
        bedrock.play({ body: Buffer.concat(before), later })
        let text = ''
        let failure = ''
        try {
          const stream = await gateway
            .openai()
            .chat.completions.create({ model: `bedrock:${model}`, messages: MESSAGES, stream: true })
          for await (const { choices } of stream) {
            text += choices[0]?.delta.content ?? ''
            if (text !== '') fail(frame(name, { message }, 'exception'))
          }
        } catch (error) {
          failure = (error as Error).message
        }
        expect(text, `${name} ${model}`).to.equal('Track ')
        expect(failure, `${name} ${model}`).to.contain(said)
      }
  })

  it('passes on for how long a throttled model asks to wait', async () => {
    const headers = { 'x-amzn-errortype': 'ThrottlingException', 'retry-after': '30' }
    bedrock.play({ status: 429, headers, body: { message: 'Too many requests' } })
    const { headers: answered } = await ask(NOVA)
    expect(answered.get('x-error-code')).to.equal('provider_rate_limited')
    expect(answered.get('retry-after')).to.equal('30')
  })

  const EMBEDDINGS = {
    'amazon.titan-embed-text-v2:0': ({ inputText }: Record<string, string>) => ({
      embedding: [inputText?.length, 1],
      inputTextTokenCount: 3,
    }),
    'cohere.embed-multilingual-v3': ({ texts }: Record<string, readonly string[]>) => ({
      embeddings: { float: texts?.map((text) => [text.length, 1]) },
    }),
  }
  for (const [model, answer] of Object.entries(EMBEDDINGS))
    it(`embeds each text by ${model}`, async () => {
      bedrock.play(({ bytes }) => ({ body: answer(JSON.parse(String(bytes))) }))
      const input = ['a', 'bcd']
      const { status, body } = await gateway.call('POST', '/v1/embeddings', {
        model: `bedrock:${model}`,
        input,
      })
      expect(status, JSON.stringify(body)).to.equal(200)
      const vectors = body.data.map(({ embedding }: { embedding: readonly number[] }) => embedding)
      expect(vectors).to.deep.equal([
        [1, 1],
        [3, 1],
      ])
    })

  it('costs what the row in the guide says, which its alias and automatic routing find', async () => {
    const blocks = await readBlocks('docs/guides/bedrock.md', 'yaml')
    await gateway.stop()
    gateway = await startGateway({ CONFIG: await writeSettings(blocks.join('')) })
    bedrock.play({ body: CLAUDE_REPLY })
    const cost = (7 * 1.1 + 100 * 0.11 + 20 * 1.375 + 5 * 5.5) / 1e6
    for (const model of ['haiku-eu', 'bedrock:eu.anthropic.claude-haiku-4-5-20251001-v1:0', 'auto']) {
      const request = { model, messages: MESSAGES }
      const { status, body } = await gateway.call('POST', '/v1/chat/completions', request)
      expect(status, JSON.stringify(body)).to.equal(200)
      expect(body.signalbox.cost_usd, model).to.be.closeTo(cost, 1e-9)
    }
  })

  const FAULTS = [
    ['ThrottlingException', 429, 'Too many requests', 'provider_rate_limited'],
    ['ThrottlingException', 429, 'Too many tokens per day, please wait.', 'provider_quota_exceeded'],
    ['ExpiredTokenException', 403, 'The security token is expired', 'provider_authentication_error'],
    ['InvalidSignatureException', 403, 'Signature expired: is now earlier', 'provider_authentication_error'],
    ['AccessDeniedException', 403, 'User is not authorized', 'provider_authentication_error'],
    ['AccessDeniedException', 403, "You don't have access to the model.", 'model_not_found'],
    ['ValidationException', 400, 'Input is too long for requested model.', 'context_length_exceeded'],
    ['ValidationException', 400, 'The provided model identifier is invalid.', 'model_not_found'],
    ['ValidationException', 400, 'temperature is wrong', 'provider_refused'],
    ['ModelNotReadyException', 429, 'The model is loading', 'provider_overloaded'],
    ['ServiceUnavailableException', 503, 'Try later', 'provider_overloaded'],
    ['ModelTimeoutException', 408, 'Too slow', 'provider_timeout'],
  ] as const
  for (const [name, status, message, code] of FAULTS) {
    it(`maps ${name} (${message}) to ${code}, before and in a stream`, async () => {
      bedrock.play({ status, headers: { 'x-amzn-errortype': `${name}:http://aws/` }, body: { message } })
      expect((await ask(CLAUDE)).headers.get('x-error-code')).to.equal(code)
      const inStream = name.charAt(0).toLowerCase() + name.slice(1)
      bedrock.play({ body: frame(inStream, { message }, 'exception') })
      expect((await ask(NOVA, { stream: true })).headers.get('x-error-code')).to.equal(code)
    })
  }

  it('ends a stream with half a frame or a wrong checksum with an error, after what arrived', async () => {
    const [first = Buffer.alloc(0), second = Buffer.alloc(0), third = Buffer.alloc(0)] = CONVERSE_EVENTS
    const broken = Buffer.from(third)
    broken.writeUInt8(broken.readUInt8(broken.length - 20) ^ 1, broken.length - 20)
    for (const last of [broken, third.subarray(0, -5), third.subarray(0, 6)]) {
      bedrock.play({ body: Buffer.concat([first, second, last]) })
      let text = ''
      let failure = ''
      try {
        const stream = await gateway
          .openai()
          .chat.completions.create({ model: `bedrock:${NOVA}`, messages: MESSAGES, stream: true })
        for await (const { choices } of stream) text += choices[0]?.delta.content ?? ''
      } catch (error) {
        failure = (error as Error).message
      }
      expect(text).to.equal('Track ')
      expect(failure).to.contain('malformed stream record')
    }
  })
})
