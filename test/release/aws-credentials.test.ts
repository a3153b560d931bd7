import { mkdir, rename, symlink, writeFile } from 'node:fs/promises'
import path from 'node:path'
import { expect } from 'chai'
import { dump } from 'js-yaml'
import { setAwsEnvironment } from '../support/aws-environment.ts'
import { makeFolder } from '../support/folders.ts'
import { type RunningGateway, startGateway } from '../support/gateway.ts'
import { whyNoCloudLibrary } from '../support/python.ts'
import {
  type Received,
  type ScriptedBedrock,
  startScriptedBedrock,
  verifySignatures,
} from '../support/scripted-bedrock.ts'
import { UNLIMITED, withSettings } from '../support/settings.ts'
import { skip } from '../support/skip.ts'
import { waitUntil } from '../support/wait.ts'

const REGION = 'eu-central-1'
const ROLE = 'arn:aws:iam::123456789012:role/models'
const REPLY = {
  output: { message: { role: 'assistant', content: [{ text: 'Track 9' }] } },
  stopReason: 'end_turn',
  usage: { inputTokens: 1, outputTokens: 1 },
}
const HOUR_MS = 3_600_000

interface Keys {
  readonly id: string
  readonly secret: string
  readonly token: string
  readonly expiration: string
}

const toXml = (action: string, { id, secret, token, expiration }: Keys) => `
<${action}Response xmlns="https://sts.amazonaws.com/doc/2011-06-15/"><${action}Result><Credentials>
  <AccessKeyId>${id}</AccessKeyId><SecretAccessKey>${secret}</SecretAccessKey>
  <SessionToken>${token}</SessionToken><Expiration>${expiration}</Expiration>
</Credentials></${action}Result></${action}Response>`

const toJson = ({ id, secret, token, expiration }: Keys) => ({
  ...{ Code: 'Success', AccessKeyId: id, SecretAccessKey: secret, Token: token, Expiration: expiration },
})

const XML = { 'content-type': 'text/xml' }

/** Where the gateway finds credentials, and how the service answers that gives them. */
interface Source {
  readonly title: string
  variables(url: string, folder: string): Promise<Readonly<Record<string, string>>>
  /** Undefined: another request. */
  answer(sent: Received, issue: () => Keys): object | undefined
}

const SOURCES: readonly Source[] = [
  {
    title: 'web identity',
    async variables(url, folder) {
      const file = path.join(folder, 'token')
      await writeFile(file, 'subject.token')
      return { AWS_WEB_IDENTITY_TOKEN_FILE: file, AWS_ROLE_ARN: ROLE, AWS_ENDPOINT_URL_STS: url }
    },
    answer({ path, bytes }, issue) {
      const fields = new URLSearchParams(String(bytes))
      if (path !== '/' || fields.get('Action') !== 'AssumeRoleWithWebIdentity') return undefined
      if (fields.get('WebIdentityToken') !== 'subject.token' || fields.get('RoleArn') !== ROLE)
        return {
          status: 400,
          headers: XML,
          body: '<ErrorResponse><Error><Code>Wrong</Code></Error></ErrorResponse>',
        }
      return { headers: XML, body: toXml('AssumeRoleWithWebIdentity', issue()) }
    },
  },
  {
    title: 'a container',
    async variables(url, folder) {
      const file = path.join(folder, 'token')
      await writeFile(file, 'container-token')
      return {
        AWS_CONTAINER_CREDENTIALS_FULL_URI: `${url}/v1/credentials`,
        AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE: file,
      }
    },
    answer({ path, headers }, issue) {
      if (path !== '/v1/credentials') return undefined
      return headers.authorization === 'container-token'
        ? { body: toJson(issue()) }
        : { status: 403, body: {} }
    },
  },
  {
    title: 'the instance',
    variables: async (url) => ({
      AWS_EC2_METADATA_SERVICE_ENDPOINT: url,
      AWS_EC2_METADATA_DISABLED: 'false',
    }),
    answer({ method, path, headers }, issue) {
      if (!path.startsWith('/latest/')) return undefined
      if (method === 'PUT') return { headers: { 'content-type': 'text/plain' }, body: 'session' }
      if (headers['x-aws-ec2-metadata-token'] !== 'session') return { status: 401, body: '' }
      return path.endsWith('/security-credentials/') ? { body: 'models' } : { body: toJson(issue()) }
    },
  },
]

describe('credentials of AWS', () => {
  let bedrock: ScriptedBedrock
  let gateway: RunningGateway | undefined
  let restore: () => void
  let folder: string
  let issued: Keys[]
  let lifetimesMs: number[]

  beforeEach(async () => {
    bedrock = await startScriptedBedrock()
    folder = await makeFolder()
    issued = []
    lifetimesMs = []
    restore = setAwsEnvironment({ AWS_ENDPOINT_URL_BEDROCK_RUNTIME: bedrock.url })
  })
  afterEach(async () => {
    await gateway?.stop()
    gateway = undefined
    bedrock.close()
    restore()
  })

  function issue(): Keys {
    const n = issued.length + 1
    const expiration = new Date(Date.now() + (lifetimesMs.shift() ?? HOUR_MS)).toISOString()
    const keys = { id: `ASIA${n}`, secret: `secret/+${n}`, token: `token+${n}/==`, expiration }
    issued.push(keys)
    return keys
  }

  async function start(row: object = {}): Promise<RunningGateway> {
    const settings = { providers: { bedrock: { format: 'bedrock', auth: 'aws', region: REGION, ...row } } }
    gateway = await startGateway(await withSettings(`${dump(settings)}${UNLIMITED}`))
    return gateway
  }

  const ask = ({ call }: RunningGateway) =>
    call('POST', '/v1/chat/completions', {
      model: 'bedrock:eu.amazon.nova-pro-v1:0',
      messages: [{ role: 'user', content: 'Which track?' }],
    })

  const asked = () => bedrock.received.filter(({ path }) => path.startsWith('/model/'))
  const keyOf = ({ headers }: Received) => /Credential=(\w+)/.exec(headers.authorization ?? '')?.[1]

  async function expectSigned(requests: readonly Received[], { id, secret, token }: Keys): Promise<void> {
    const keys = { access_key: id, secret_key: secret, region: REGION }
    const sent = { url: bedrock.url, received: [...requests] }
    expect(await verifySignatures(sent, keys)).to.deep.equal(requests.map(() => true))
    for (const { headers } of requests) expect(headers['x-amz-security-token']).to.equal(token)
  }

  for (const source of SOURCES) {
    async function useSource(): Promise<void> {
      Object.assign(process.env, await source.variables(bedrock.url, folder))
      bedrock.play((sent) => ({ body: REPLY, ...source.answer(sent, issue) }))
    }

    it(`come from ${source.title}, once for concurrent requests`, async function () {
      const reason = whyNoCloudLibrary('botocore')
      if (reason !== undefined) skip(this, reason)
      await useSource()
      const started = await start()
      const answers = await Promise.all(Array.from({ length: 8 }, () => ask(started)))
      expect(answers.map(({ status }) => status)).to.deep.equal(Array(8).fill(200))
      expect(issued).to.have.length(1)
      await expectSigned(asked(), issued[0] as Keys)
    })

    it(`are renewed by ${source.title} before they expire`, async () => {
      await useSource()
      lifetimesMs = [4000]
      const started = await start()
      expect((await ask(started)).status).to.equal(200)
      await waitUntil(() => issued.length === 2)
      expect(Date.now()).to.be.lessThan(Date.parse(issued[0]?.expiration ?? ''))
      await waitUntil(async () => {
        expect((await ask(started)).status).to.equal(200)
        return keyOf(bedrock.received.at(-1) as Received) === 'ASIA2'
      })
      expect(issued).to.have.length(2)
    })

    it(`of ${source.title} assume a role`, async function () {
      const reason = whyNoCloudLibrary('botocore')
      if (reason !== undefined) skip(this, reason)
      await useSource()
      process.env.AWS_ENDPOINT_URL_STS = bedrock.url
      const isAssuming = ({ bytes }: Received) => /Action=AssumeRole&/.test(String(bytes))
      bedrock.play((sent) => {
        if (isAssuming(sent)) return { headers: XML, body: toXml('AssumeRole', issue()) }
        return { body: REPLY, ...source.answer(sent, issue) }
      })
      expect((await ask(await start({ role_arn: ROLE }))).status).to.equal(200)
      expect(issued).to.have.length(2)
      await expectSigned(bedrock.received.filter(isAssuming), issued[0] as Keys)
      await expectSigned(asked(), issued[1] as Keys)
    })

    it(`that ${source.title} refuses fail the request, and are tried again`, async () => {
      await useSource()
      bedrock.play((sent) => {
        const answer = source.answer(sent, issue)
        return answer ? { status: 403, body: { message: 's3cret reason' } } : { body: REPLY }
      })
      const started = await start()
      const { status, body } = await ask(started)
      expect(status).to.equal(502)
      expect(body.error.code).to.equal('provider_authentication_error')
      expect(body.error.message).to.contain('finding credentials of AWS failed').and.not.contain('s3cret')
      expect(started.stderr()).not.to.contain('s3cret')
      expect(asked()).to.have.length(0)
      await useSource()
      await waitUntil(async () => (await ask(started)).status === 200)
    })
  }

  const profileOf = (key: string) =>
    `[default]\naws_access_key_id = ${key}\naws_secret_access_key = of/${key}\n`

  it('of a profile are read again when the file changes', async () => {
    const file = path.join(folder, 'credentials')
    await writeFile(file, profileOf('AKIAFIRST'))
    process.env.AWS_SHARED_CREDENTIALS_FILE = file
    bedrock.play({ body: REPLY })
    const started = await start()
    expect((await ask(started)).status).to.equal(200)
    expect(asked().map(keyOf)).to.deep.equal(['AKIAFIRST'])
    await writeFile(`${file}.next`, profileOf('AKIASECOND'))
    await rename(`${file}.next`, file)
    await waitUntil(async () => {
      expect((await ask(started)).status).to.equal(200)
      return asked().map(keyOf).at(-1) === 'AKIASECOND'
    })
  })

  it('of a profile are read again when the folder is another, as Kubernetes replaces it', async () => {
    for (const name of ['one', 'two']) {
      await mkdir(path.join(folder, name))
      await writeFile(path.join(folder, name, 'credentials'), profileOf(`AKIA${name}`))
    }
    const link = path.join(folder, 'current')
    await symlink('one', link)
    process.env.AWS_SHARED_CREDENTIALS_FILE = path.join(link, 'credentials')
    bedrock.play({ body: REPLY })
    const started = await start()
    expect((await ask(started)).status).to.equal(200)
    await symlink('two', `${link}.next`)
    await rename(`${link}.next`, link)
    await waitUntil(async () => {
      await ask(started)
      return asked().map(keyOf).at(-1) === 'AKIAtwo'
    })
  })

  it('of a profile stay while its file is damaged', async () => {
    const file = path.join(folder, 'credentials')
    await writeFile(file, profileOf('AKIAFIRST'))
    process.env.AWS_SHARED_CREDENTIALS_FILE = file
    bedrock.play({ body: REPLY })
    const started = await start()
    expect((await ask(started)).status).to.equal(200)
    await writeFile(file, '[default]\naws_access_key_id = AKIAHALF\n')
    for (let i = 0; i < 3; i++) expect((await ask(started)).status).to.equal(200)
    await writeFile(file, profileOf('AKIATHIRD'))
    await waitUntil(async () => {
      expect((await ask(started)).status).to.equal(200)
      return asked().map(keyOf).at(-1) === 'AKIATHIRD'
    })
    expect(asked().map(keyOf)).not.to.include('AKIAHALF')
  })

  it('that AWS refuses are fetched again, and the request repeated with other ones only', async () => {
    const file = path.join(folder, 'credentials')
    await writeFile(file, profileOf('AKIAONLY'))
    process.env.AWS_SHARED_CREDENTIALS_FILE = file
    bedrock.play({ body: REPLY })
    const started = await start()
    expect((await ask(started)).status).to.equal(200)
    const headers = { 'x-amzn-errortype': 'UnrecognizedClientException' }
    bedrock.play({ status: 403, headers, body: { message: 'The security token is invalid.' } })
    expect((await ask(started)).body.error.code).to.equal('provider_authentication_error')
    expect(asked()).to.have.length(2)
  })
})
