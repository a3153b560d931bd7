import { writeFile } from 'node:fs/promises'
import path from 'node:path'
import { expect } from 'chai'
import { dump } from 'js-yaml'
import { makeFolder } from '../support/folders.ts'
import { type RunningGateway, startGateway } from '../support/gateway.ts'
import { createHold } from '../support/hold.ts'
import { runCloudLibrary, whyNoCloudLibrary } from '../support/python.ts'
import { type ScriptedEntra, startScriptedEntra } from '../support/scripted-entra.ts'
import {
  completion,
  type ScriptedProvider,
  type ScriptedRequest,
  startScriptedProvider,
} from '../support/scripted-provider.ts'
import { writeSettings } from '../support/settings-file.ts'
import { skip } from '../support/skip.ts'
import { readTestTls } from '../support/tls.ts'
import { waitUntil } from '../support/wait.ts'

const TENANT = '8a1b2c3d-0000-4000-8000-000000000001'
const CLIENT = '8a1b2c3d-0000-4000-8000-000000000002'
const CLIENT_SECRET = 'canary~of~a~client~secret'
const SCOPE = 'https://cognitiveservices.azure.com/.default'

const BY_SECRET = { tenant_id: TENANT, client_id: CLIENT, client_secret_variable: 'AZURE_SECRET' }

/** What the libraries read of the process. */
const VARIABLES = [
  ...['AZURE_AUTHORITY_HOST', 'AZURE_FEDERATED_TOKEN_FILE', 'AZURE_TENANT_ID', 'AZURE_CLIENT_ID'],
  ...['IDENTITY_ENDPOINT', 'IDENTITY_HEADER', 'AZURE_POD_IDENTITY_AUTHORITY_HOST'],
]

const QUESTION = {
  model: 'azure:gpt-5.4-mini',
  messages: [{ role: 'user' as const, content: 'Which track?' }],
}

describe('auth: entra', () => {
  let entra: ScriptedEntra
  let provider: ScriptedProvider
  let gateway: RunningGateway | undefined
  const before = Object.fromEntries(VARIABLES.map((name) => [name, process.env[name]]))

  beforeEach(async () => {
    for (const name of VARIABLES) delete process.env[name]
    entra = await startScriptedEntra()
    process.env.AZURE_AUTHORITY_HOST = entra.authority
    provider = await startScriptedProvider()
    provider.play({ body: completion({ content: 'Track 9' }) })
  })
  afterEach(async () => {
    await gateway?.stop()
    gateway = undefined
    provider.close()
    entra.close()
    for (const [name, value] of Object.entries(before))
      if (value === undefined) delete process.env[name]
      else process.env[name] = value
  })

  async function start(row: object): Promise<RunningGateway> {
    const CONFIG = await writeSettings(
      dump({
        providers: { azure: { format: 'openai', base_url: provider.url, auth: 'entra', ...row } },
        rate_limits: { requests_per_minute: { free: null, paid: null } },
      }),
    )
    gateway = await startGateway({ CONFIG, AZURE_SECRET: CLIENT_SECRET })
    return gateway
  }

  const ask = (to: RunningGateway) => to.call('POST', '/v1/chat/completions', QUESTION)

  it('fetches a token at the start, for all requests that follow', async () => {
    const started = await start(BY_SECRET)
    await waitUntil(() => entra.issued.length > 0)
    const answers = await Promise.all(Array.from({ length: 20 }, () => ask(started)))
    for (const { status, body } of answers) expect(status, JSON.stringify(body)).to.equal(200)
    const { authorization, 'api-key': key } = provider.last()?.headers ?? {}
    expect([authorization, key]).to.deep.equal([`Bearer ${entra.issued[0]}`, undefined])
    expect(entra.requests).to.have.length(1)
    expect(entra.requests[0]?.path).to.equal(`/${TENANT}/oauth2/v2.0/token`)
  })

  it('serves the official SDK, whole and as a stream', async () => {
    const { openai } = await start(BY_SECRET)
    const whole = await openai().chat.completions.create(QUESTION)
    expect(whole.choices[0]?.message.content).to.equal('Track 9')
    provider.play({
      chunks: [{ choices: [{ index: 0, delta: { content: 'Track 9' }, finish_reason: 'stop' }] }],
    })
    let text = ''
    for await (const { choices } of await openai().chat.completions.create({ ...QUESTION, stream: true }))
      text += choices[0]?.delta.content ?? ''
    expect(text).to.equal('Track 9')
    expect(provider.last()?.headers.authorization).to.equal(`Bearer ${entra.issued[0]}`)
  })

  it('asks once for requests that come before the first token', async () => {
    const hold = createHold()
    entra.until = hold.released
    const started = await start(BY_SECRET)
    const answers = Array.from({ length: 20 }, () => ask(started))
    await waitUntil(() => entra.requests.length > 0)
    expect(provider.last()).to.equal(undefined)
    hold.release()
    for (const { status } of await Promise.all(answers)) expect(status).to.equal(200)
    expect(entra.requests).to.have.length(1)
  })

  it('fetches the next token ahead of the end of the one before', async () => {
    entra.lifetimeSeconds = 8
    const started = await start(BY_SECRET)
    await waitUntil(() => entra.issued.length > 0)
    await ask(started)
    const hold = createHold()
    entra.until = hold.released
    await waitUntil(() => entra.requests.length > 1)
    expect((await ask(started)).status).to.equal(200)
    expect(provider.last()?.headers.authorization).to.equal(`Bearer ${entra.issued[0]}`)
    hold.release()
    await waitUntil(() => entra.issued.length > 1)
    await waitUntil(async () => {
      await ask(started)
      return provider.last()?.headers.authorization === `Bearer ${entra.issued[1]}`
    })
  })

  it('takes a client secret from a file, which is read again when it changes', async () => {
    const file = path.join(await makeFolder(), 'secret')
    await writeFile(file, 'the~first~secret\n')
    const CONFIG = await writeSettings(
      dump({
        providers: { azure: { format: 'openai', base_url: provider.url, auth: 'entra', ...BY_SECRET } },
      }),
    )
    gateway = await startGateway({ CONFIG, AZURE_SECRET_FILE: file })
    await waitUntil(() => entra.issued.length === 1)
    expect(entra.requests[0]?.fields.client_secret).to.equal('the~first~secret')
    await writeFile(file, 'the~second~secret')
    await waitUntil(() => entra.issued.length === 2)
    expect(entra.requests[1]?.fields.client_secret).to.equal('the~second~secret')
    expect(gateway.stderr()).not.to.contain('~secret')
  })

  it('renews a token that was revoked, and repeats the request', async () => {
    const started = await start(BY_SECRET)
    await ask(started)
    const { authorization: revoked } = provider.last()?.headers ?? {}
    const onRequest = ({ headers }: ScriptedRequest) =>
      provider.play(
        headers.authorization === revoked
          ? { status: 401, body: { error: { code: 'Unauthorized', message: 'Revoked.' } }, onRequest }
          : { body: completion({ content: 'Track 9' }), onRequest },
      )
    provider.play({ onRequest })
    const answers = await Promise.all(Array.from({ length: 8 }, () => ask(started)))
    expect(answers.map(({ status }) => status)).to.deep.equal(Array(8).fill(200))
    expect(entra.issued).to.have.length(2)
    expect(provider.last()?.headers.authorization).to.equal(`Bearer ${entra.issued[1]}`)
  })

  it("asks for a token as Microsoft's library for Python does", async function () {
    const reason = whyNoCloudLibrary('msal')
    if (reason !== undefined) skip(this, reason)
    await start(BY_SECRET)
    await waitUntil(() => entra.issued.length > 0)
    const script = `
import json, sys, msal
host, tenant, client, secret, scope = sys.argv[1:]
app = msal.ConfidentialClientApplication(
    client, authority=f'{host}/{tenant}', client_credential=secret, instance_discovery=False)
print(json.dumps(app.acquire_token_for_client([scope])))
`
    const { caFile } = await readTestTls()
    const args = [entra.authority, TENANT, CLIENT, CLIENT_SECRET, SCOPE]
    const result = await runCloudLibrary(script, args, { REQUESTS_CA_BUNDLE: caFile })
    expect(result.access_token).to.equal(entra.issued[1])
    const [ours, theirs] = entra.requests.map(({ path, fields }) => {
      const { grant_type, client_id, client_secret, scope } = fields
      return { path, grant_type, client_id, client_secret, scope }
    })
    expect(ours).to.deep.equal(theirs)
    expect(ours).to.include({ grant_type: 'client_credentials', scope: SCOPE, client_secret: CLIENT_SECRET })
  })

  it('names the step that fails, and shows no secret anywhere', async () => {
    const said = `AADSTS7000215: Invalid client secret provided: ${CLIENT_SECRET}`
    entra.refusal = { status: 401, body: { error: 'invalid_client', error_description: said } }
    const started = await start(BY_SECRET)
    const { status, body } = await ask(started)
    expect(status).to.equal(502)
    expect(body.error).to.include({
      code: 'provider_authentication_error',
      message:
        'azure could not be authenticated with: the token request to Entra failed. ' +
        'Ask the operator to check its credentials.',
    })
    await started.wrote('AADSTS7000215')
    const outputs = JSON.stringify(body) + started.stderr()
    expect(outputs).not.to.contain(CLIENT_SECRET)
    expect(provider.last()).to.equal(undefined)

    entra.refusal = undefined
    await waitUntil(async () => (await ask(started)).status === 200)
    // Azure quotes the token of a request that it refuses.
    const message = `The token ${entra.issued[0]} is not for this resource.`
    provider.play({ status: 400, body: { error: { code: 'BadRequest', message } } })
    const refused = await ask(started)
    expect(refused.body.error.message).to.contain('The token [redacted]')
    expect(JSON.stringify(refused.body) + started.stderr()).not.to.contain('canary')
  })

  it('sends the federated token of a workload identity, which is read again when it changes', async () => {
    const file = path.join(await makeFolder(), 'token')
    await writeFile(file, 'eyJ.first.federated\n')
    Object.assign(process.env, {
      AZURE_FEDERATED_TOKEN_FILE: file,
      AZURE_TENANT_ID: TENANT,
      AZURE_CLIENT_ID: CLIENT,
    })
    entra.lifetimeSeconds = 2
    const started = await start({})
    await waitUntil(() => entra.issued.length > 0)
    expect(entra.requests[0]?.path).to.equal(`/${TENANT}/oauth2/v2.0/token`)
    expect(entra.requests[0]?.fields).to.include({
      client_id: CLIENT,
      client_assertion: 'eyJ.first.federated',
      client_assertion_type: 'urn:ietf:params:oauth:client-assertion-type:jwt-bearer',
      scope: SCOPE,
    })
    await writeFile(file, 'eyJ.second.federated\n')
    await waitUntil(() => entra.requests.at(-1)?.fields.client_assertion === 'eyJ.second.federated')
    await writeFile(file, '')
    const failed = await waitUntil(async () => {
      const { status, body } = await ask(started)
      return status !== 200 && body.error
    })
    expect(failed.code).to.equal('provider_authentication_error')
    expect(failed.message).to.contain(': reading the federated token file failed.')
  })

  it('takes the managed identity of an app, system-assigned or by its client id', async () => {
    process.env.IDENTITY_ENDPOINT = `${entra.identityEndpoint}/msi/token`
    process.env.IDENTITY_HEADER = 'canary-of-an-identity-header'
    const started = await start({})
    expect((await ask(started)).status).to.equal(200)
    expect(provider.last()?.headers.authorization).to.equal(`Bearer ${entra.issued[0]}`)
    const [request] = entra.requests
    expect(request?.headers['x-identity-header']).to.equal('canary-of-an-identity-header')
    expect(request?.fields).to.include({ resource: 'https://cognitiveservices.azure.com' })
    expect(request?.fields).not.to.have.property('client_id')
    await started.stop()
    await start({ client_id: CLIENT, token_scope: 'https://ai.azure.com/.default' })
    await waitUntil(() => entra.issued.length > 1)
    expect(entra.requests[1]?.fields).to.include({ resource: 'https://ai.azure.com', client_id: CLIENT })
    expect(started.stderr()).not.to.contain('canary')
  })

  it('is checked at the start', async () => {
    const failure = (row: object) =>
      start(row).then(
        () => 'started',
        (error: Error) => error.message,
      )
    expect(await failure({ client_secret_variable: 'AZURE_SECRET' }))
      .to.contain('providers.azure.tenant_id is needed with client_secret_variable')
      .and.contain('providers.azure.client_id is needed with client_secret_variable')
    expect(await failure({ ...BY_SECRET, client_secret_variable: 'OTHER_SECRET' })).to.contain(
      'providers.azure.client_secret_variable: OTHER_SECRET is not set',
    )
    expect(await failure({ key_variable: 'A_KEY' })).to.contain(
      'providers.azure has both auth: entra and key_variable',
    )
  })
})
