import { once } from 'node:events'
import { writeFile } from 'node:fs/promises'
import { createServer } from 'node:http'
import { createServer as createTlsServer } from 'node:https'
import { type AddressInfo, connect } from 'node:net'
import path from 'node:path'
import { expect } from 'chai'
import { dump } from 'js-yaml'
import { makeFolder } from '../support/folders.ts'
import { type GatewayProcess, startGatewayProcess } from '../support/gateway-process.ts'
import { type ScriptedEntra, startScriptedEntra } from '../support/scripted-entra.ts'
import { completion, type ScriptedProvider, startScriptedProvider } from '../support/scripted-provider.ts'
import { type ScriptedVertex, startScriptedVertex } from '../support/scripted-vertex.ts'
import { writeSettings } from '../support/settings-file.ts'
import { readTestTls } from '../support/tls.ts'

// The libraries of clouds read the environment of the process and remember what they found.

const QUESTION = { messages: [{ role: 'user', content: 'Which track?' }] }

describe('the managed identity of a process', () => {
  let gateway: GatewayProcess | undefined
  afterEach(async () => {
    await gateway?.stop()
    gateway = undefined
  })

  async function start(providers: object, environment: Record<string, string>): Promise<GatewayProcess> {
    gateway = await startGatewayProcess({ CONFIG: await writeSettings(dump({ providers })), ...environment })
    return gateway
  }

  async function ask({ call }: GatewayProcess, model: string): Promise<void> {
    const { status, body } = await call('POST', '/v1/chat/completions', { ...QUESTION, model })
    expect(status, JSON.stringify(body)).to.equal(200)
    expect(body.choices[0].message.content).to.equal('Track 9')
  }

  describe('in Azure', () => {
    let entra: ScriptedEntra
    let provider: ScriptedProvider
    before(async () => {
      entra = await startScriptedEntra()
      provider = await startScriptedProvider()
      provider.play({ body: completion({ content: 'Track 9' }) })
    })
    after(() => {
      provider.close()
      entra.close()
    })
    beforeEach(() => {
      entra.requests.length = 0
    })

    const azure = () => ({
      azure: {
        ...{ format: 'openai', auth: 'entra', query: { 'api-version': '2024-10-21' } },
        base_url: `${new URL(provider.url).origin}/openai/deployments/{model}`,
      },
    })

    it('is that of App Service and Container Apps', async () => {
      const started = await start(azure(), {
        IDENTITY_ENDPOINT: `${entra.identityEndpoint}/msi/token`,
        IDENTITY_HEADER: 'canary-of-an-identity-header',
      })
      await ask(started, 'azure:my-gpt')
      expect(provider.last()?.path).to.equal(
        '/openai/deployments/my-gpt/chat/completions?api-version=2024-10-21',
      )
      expect(provider.last()?.headers.authorization).to.equal(`Bearer ${entra.issued.at(-1)}`)
      const [request, ...others] = entra.requests
      expect(others).to.deep.equal([])
      expect(request?.path).to.equal('/msi/token')
      expect(request?.headers['x-identity-header']).to.equal('canary-of-an-identity-header')
      expect(request?.fields.resource).to.equal('https://cognitiveservices.azure.com')
      expect(started.stderr()).not.to.contain('canary')
    })

    it('is that of a virtual machine (IMDS)', async () => {
      const started = await start(azure(), { AZURE_POD_IDENTITY_AUTHORITY_HOST: entra.identityEndpoint })
      await ask(started, 'azure:my-gpt')
      expect(provider.last()?.headers.authorization).to.equal(`Bearer ${entra.issued.at(-1)}`)
      const request = entra.requests.at(-1)
      expect(request?.path).to.match(/^\/metadata\/identity\/oauth2\/token\/?$/)
      expect(request?.headers.metadata).to.equal('true')
      expect(request?.fields.resource).to.equal('https://cognitiveservices.azure.com')
      expect(started.stderr()).not.to.contain('canary')
    })
  })

  describe('in Google Cloud', () => {
    let vertex: ScriptedVertex
    beforeEach(async () => {
      vertex = await startScriptedVertex()
      vertex.play({
        body: {
          candidates: [{ content: { role: 'model', parts: [{ text: 'Track 9' }] }, finishReason: 'STOP' }],
          usageMetadata: { promptTokenCount: 1, candidatesTokenCount: 1 },
        },
      })
    })
    afterEach(() => vertex.close())

    const row = () => ({
      vertex: {
        ...{ format: 'vertex', auth: 'google', project: 'rail', location: 'global' },
        base_url: vertex.url,
      },
    })

    it('is that of the metadata server, which is asked again when its token was revoked', async () => {
      const started = await start(row(), {
        GCE_METADATA_HOST: new URL(vertex.url).host,
        CLOUDSDK_CONFIG: await makeFolder(),
      })
      await ask(started, 'vertex:gemini-3.5-flash')
      const first = vertex.requests.at(-1)?.authorization
      expect(first).to.match(/^Bearer ya29\.metadata-/)
      vertex.revoke()
      await ask(started, 'vertex:gemini-3.5-flash')
      expect(vertex.requests.at(-1)?.authorization).not.to.equal(first)
      expect(vertex.metadata.filter((asked) => asked.includes('/token'))).to.have.length(2)
      expect(started.stderr()).not.to.contain('ya29')
    })

    it('is the login of gcloud, with the project that pays', async () => {
      const folder = await makeFolder()
      const credentials = {
        ...{ type: 'authorized_user', client_id: 'an-id', client_secret: 'canary-secret' },
        ...{ refresh_token: 'canary-refresh', quota_project_id: 'payer' },
      }
      await writeFile(path.join(folder, 'application_default_credentials.json'), JSON.stringify(credentials))
      const google = await startTokenEndpoint(vertex)
      const started = await start(row(), {
        CLOUDSDK_CONFIG: folder,
        HTTPS_PROXY: google.proxy,
        // Its certificate is not that of Google.
        NODE_TLS_REJECT_UNAUTHORIZED: '0',
      })
      await ask(started, 'vertex:gemini-3.5-flash')
      google.close()
      expect(google.hosts).to.include('oauth2.googleapis.com:443')
      expect(Object.fromEntries(vertex.exchanges.at(-1) ?? [])).to.include({
        ...{ grant_type: 'refresh_token', refresh_token: 'canary-refresh', client_id: 'an-id' },
      })
      expect(vertex.requests.at(-1)?.quotaProject).to.equal('payer')
      expect(started.stderr()).not.to.contain('canary')
    })
  })
})

/** A proxy that leads every TLS connection to the token endpoint of a scripted server. */
async function startTokenEndpoint(vertex: ScriptedVertex) {
  const { key, certificate: cert } = (await readTestTls()).tls
  const tls = createTlsServer({ key, cert }, async (request, response) => {
    const chunks: Buffer[] = []
    for await (const chunk of request) chunks.push(chunk)
    const answer = await fetch(vertex.tokenUri, {
      method: 'POST',
      headers: { 'content-type': 'application/x-www-form-urlencoded' },
      body: Buffer.concat(chunks),
    })
    response.writeHead(answer.status, { 'content-type': 'application/json' }).end(await answer.text())
  })
  const hosts: string[] = []
  const proxy = createServer()
  proxy.on('connect', ({ url = '' }, socket) => {
    hosts.push(url)
    const onward = connect((tls.address() as AddressInfo).port, '127.0.0.1', () => {
      socket.write('HTTP/1.1 200 Connection established\r\n\r\n')
      socket.pipe(onward).pipe(socket)
    })
    for (const end of [socket, onward]) end.on('error', () => undefined)
  })
  for (const server of [tls, proxy]) await once(server.listen(0, '127.0.0.1'), 'listening')
  return {
    hosts,
    proxy: `http://127.0.0.1:${(proxy.address() as AddressInfo).port}`,
    close() {
      for (const server of [tls, proxy]) {
        server.close()
        server.closeAllConnections()
      }
    },
  }
}
