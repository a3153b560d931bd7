import { writeFile } from 'node:fs/promises'
import { expect } from 'chai'
import { dump } from 'js-yaml'
import { type RunningGateway, startGateway } from '../support/gateway.ts'
import { runCloudLibrary, whyNoCloudLibrary } from '../support/python.ts'
import { type ScriptedVertex, startScriptedVertex, vertexRow } from '../support/scripted-vertex.ts'
import { UNLIMITED, withSettings } from '../support/settings.ts'
import { skip } from '../support/skip.ts'
import { waitUntil } from '../support/wait.ts'

const REPLY = {
  candidates: [{ content: { role: 'model', parts: [{ text: 'Track 9.' }] }, finishReason: 'STOP' }],
  usageMetadata: { promptTokenCount: 1, candidatesTokenCount: 1 },
}

interface Claims {
  readonly iss: string
  readonly iat: number
  readonly exp: number
}

const claimsOf = (assertion = ''): Claims =>
  JSON.parse(Buffer.from(assertion.split('.')[1] ?? '', 'base64url').toString())

describe('credentials of Google', () => {
  let vertex: ScriptedVertex
  let gateway: RunningGateway | undefined

  beforeEach(async () => {
    vertex = await startScriptedVertex()
    vertex.play({ body: REPLY })
  })
  afterEach(async () => {
    await gateway?.stop()
    gateway = undefined
    vertex.close()
  })

  async function start(row: object = {}): Promise<RunningGateway> {
    const settings = { providers: { vertex: { ...vertexRow(vertex), ...row } } }
    gateway = await startGateway(await withSettings(`${dump(settings)}${UNLIMITED}`))
    return gateway
  }

  async function ask({ call }: RunningGateway) {
    const messages = [{ role: 'user', content: 'Which track?' }]
    const { status, body } = await call('POST', '/v1/chat/completions', {
      ...{ model: 'vertex:gemini-3.5-flash', messages },
    })
    return { status, code: body.error?.code, message: body.error?.message, body }
  }

  it('are fetched once for all requests', async () => {
    const started = await start()
    const answers = await Promise.all(Array.from({ length: 8 }, () => ask(started)))
    expect(answers.map(({ status }) => status)).to.deep.equal(Array(8).fill(200))
    expect(vertex.assertions).to.have.length(1)
    const { iss, iat, exp } = claimsOf(vertex.assertions[0])
    expect(iss).to.equal('gateway@rail.iam.gserviceaccount.com')
    expect(exp - iat).to.equal(3600)
  })

  it("come for an assertion that Google's library for Python accepts", async function () {
    const reason = whyNoCloudLibrary('google.auth')
    if (reason !== undefined) skip(this, reason)
    expect((await ask(await start())).status).to.equal(200)
    const script = `
import json, sys
from google.auth import jwt
assertion, key, audience = sys.argv[1:]
claims = jwt.decode(assertion, key, audience=audience)
print(json.dumps(dict(header=jwt.decode_header(assertion), claims=claims)))
`
    const [assertion = ''] = vertex.assertions
    const { header, claims } = await runCloudLibrary(script, [assertion, vertex.publicKey, vertex.tokenUri])
    expect(header).to.deep.equal({ alg: 'RS256', typ: 'JWT', kid: 'key-1' })
    expect(claims).to.include({
      ...{ iss: 'gateway@rail.iam.gserviceaccount.com', aud: vertex.tokenUri },
      scope: 'https://www.googleapis.com/auth/cloud-platform',
    })
    const other = await startScriptedVertex()
    other.close()
    const refused = runCloudLibrary(script, [assertion, other.publicKey, vertex.tokenUri])
    expect(await refused.catch((error: Error) => error.message)).to.contain('Could not verify')
  })

  it('are read again when the key file changes, without a restart', async () => {
    const started = await start()
    expect((await ask(started)).status).to.equal(200)
    await vertex.replaceKey('next@rail.iam.gserviceaccount.com')
    await waitUntil(() => vertex.assertions.length === 2)
    expect(claimsOf(vertex.assertions[1]).iss).to.equal('next@rail.iam.gserviceaccount.com')
    await waitUntil(async () => {
      expect((await ask(started)).status).to.equal(200)
      return vertex.requests.at(-1)?.authorization === 'Bearer ya29.token-2'
    })
  })

  it('are signed again by the time of the endpoint, if the clock is wrong', async () => {
    const date = new Date(Date.now() + 3_600_000)
    vertex.issue((assertion) => {
      const isOff = Math.abs(claimsOf(assertion).iat * 1000 - date.getTime()) > 60_000
      const headers = { date: date.toUTCString() }
      return isOff
        ? { status: 400, body: { error: 'invalid_grant', error_description: 'Invalid JWT' }, headers }
        : { status: 200, body: { access_token: 'ya29.skewed', expires_in: 3600 }, headers }
    })
    expect((await ask(await start())).status).to.equal(200)
    expect(vertex.assertions).to.have.length(2)
    expect(vertex.requests.at(-1)?.authorization).to.equal('Bearer ya29.skewed')
  })

  it('name the token request that was refused, without what the endpoint said', async () => {
    vertex.issue(() => ({
      status: 400,
      body: { error: 'invalid_grant', error_description: 'account s3cret-account not found' },
    }))
    const started = await start()
    const { status, code, message } = await ask(started)
    expect({ status, code }).to.deep.equal({ status: 502, code: 'provider_authentication_error' })
    expect(message).to.contain('the token request to Google failed').and.not.contain('s3cret')
    await started.wrote('invalid_grant')
    expect(started.stderr()).not.to.contain('s3cret')
    expect(vertex.requests).to.have.length(0)
  })

  const files = [
    { title: 'is missing', text: undefined, step: 'reading the key file' },
    { title: 'is not JSON', text: 'PRIVATE', step: 'reading the key file' },
    {
      title: 'is incomplete',
      text: JSON.stringify({ type: 'service_account', client_email: 'a@b.c' }),
      step: 'reading the key file',
    },
    {
      title: 'has a damaged key',
      text: JSON.stringify({ type: 'service_account', client_email: 'a@b.c', private_key: 'PRIVATE' }),
      step: 'signing with the private key',
    },
  ]
  for (const { title, text, step } of files)
    it(`name the step if the key file ${title}`, async () => {
      const file = `${vertex.keyFile}.other`
      if (text !== undefined) await writeFile(file, text)
      const started = await start({ credentials_file: file })
      const { status, code, message } = await ask(started)
      expect({ status, code }).to.deep.equal({ status: 502, code: 'provider_authentication_error' })
      expect(message).to.contain(`${step} failed`)
      expect(`${message}${started.stderr()}`).not.to.contain('PRIVATE')
    })

  it('name the token request if its endpoint is down', async () => {
    const gone = await startScriptedVertex()
    gone.close()
    const { status, message } = await ask(await start({ credentials_file: gone.keyFile }))
    expect(status).to.equal(502)
    expect(message).to.contain('the token request to Google failed')
  })

  it('come from the exchange of a workload identity, too', async () => {
    const file = `${vertex.keyFile}.external`
    await writeFile(`${file}.token`, 'subject-token')
    await writeFile(
      file,
      JSON.stringify({
        type: 'external_account',
        audience: '//iam.googleapis.com/projects/1/locations/global/workloadIdentityPools/p/providers/q',
        subject_token_type: 'urn:ietf:params:oauth:token-type:jwt',
        token_url: vertex.tokenUri,
        credential_source: { file: `${file}.token` },
      }),
    )
    expect((await ask(await start({ credentials_file: file }))).status).to.equal(200)
    expect(vertex.exchanges.at(-1)?.get('subject_token')).to.equal('subject-token')
  })

  describe('that were revoked', () => {
    const MESSAGES = [{ role: 'user' as const, content: 'Which track?' }]

    it('are renewed once for all requests, which are repeated', async () => {
      const started = await start()
      expect((await ask(started)).status).to.equal(200)
      vertex.revoke()
      const answers = await Promise.all(Array.from({ length: 8 }, () => ask(started)))
      expect(answers.map(({ status }) => status)).to.deep.equal(Array(8).fill(200))
      expect(vertex.assertions).to.have.length(2)
    })

    it('are renewed for streams and token counts', async () => {
      const { openai } = await start()
      const model = 'vertex:gemini-3.5-flash'
      await openai().chat.completions.create({ model, messages: MESSAGES })
      vertex.revoke()
      vertex.play({ records: [REPLY] })
      let text = ''
      const stream = await openai().chat.completions.create({ model, messages: MESSAGES, stream: true })
      for await (const { choices } of stream) text += choices[0]?.delta.content ?? ''
      expect(text).to.equal('Track 9.')
      expect(vertex.assertions).to.have.length(2)
      await gateway?.stop()
      const other = await start()
      await waitUntil(() => vertex.assertions.length === 3)
      vertex.revoke()
      vertex.play({ body: { totalTokens: 31 } })
      const counted = await other.call('POST', '/v1/messages/count_tokens', { model, messages: MESSAGES })
      expect(counted.body).to.deep.equal({ input_tokens: 31 })
      expect(vertex.assertions).to.have.length(4)
    })

    it('are renewed once only if Vertex AI refuses the new ones, too', async () => {
      const started = await start()
      expect((await ask(started)).status).to.equal(200)
      vertex.play({
        status: 401,
        body: { error: { code: 401, status: 'UNAUTHENTICATED', message: 'Expired.' } },
      })
      const before = vertex.requests.length
      for (const sent of [2, 3]) {
        const { status, code } = await ask(started)
        expect({ status, code }).to.deep.equal({ status: 502, code: 'provider_authentication_error' })
        expect(vertex.requests.length - before).to.equal(sent)
      }
      expect(vertex.assertions).to.have.length(2)
    })

    it('are not renewed if they are valid, but without permission', async () => {
      const started = await start()
      vertex.play({
        status: 403,
        body: { error: { code: 403, status: 'PERMISSION_DENIED', message: 'aiplatform.endpoints.predict' } },
      })
      expect(await ask(started)).to.include({ status: 502, code: 'provider_authentication_error' })
      expect([vertex.requests.length, vertex.assertions.length]).to.deep.equal([1, 1])
    })
  })
})
