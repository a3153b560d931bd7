import { readFileSync } from 'node:fs'
import path from 'node:path'
import { fileURLToPath } from 'node:url'
import { expect } from 'chai'
import { dump } from 'js-yaml'
import { type GatewayProcess, startGatewayProcess } from '../support/gateway-process.ts'
import { ROOT } from '../support/root.ts'
import { writeSettings } from '../support/settings-file.ts'
import { listFiles, SOURCE_FOLDERS } from '../support/source-files.ts'

const NODE_OPTIONS = `--import=${new URL('test/fixtures/report-clouds.mjs', ROOT)}`

/** Credentials that the libraries find without a network. */
const ENVIRONMENT = {
  NODE_OPTIONS,
  AWS_ACCESS_KEY_ID: 'AKIACANARY0000000001',
  AWS_SECRET_ACCESS_KEY: 'canary',
  AWS_EC2_METADATA_DISABLED: 'true',
  AWS_CONFIG_FILE: '/dev/null',
  AWS_SHARED_CREDENTIALS_FILE: '/dev/null',
  OPENAI_API_KEY: 'sk-unused',
}

const loadedBy = ({ stderr }: GatewayProcess) =>
  [...new Set([...stderr().matchAll(/cloud library: (\S+)/g)].map(([, name]) => name))].sort()

describe('the libraries of clouds', () => {
  let gateway: GatewayProcess | undefined
  afterEach(async () => {
    await gateway?.stop()
    gateway = undefined
  })

  it('are not loaded by a start without clouds', async () => {
    gateway = await startGatewayProcess(ENVIRONMENT)
    expect((await gateway.call('GET', '/v1/models')).status).to.equal(200)
    expect(await gateway.stop()).to.equal(0)
    expect(loadedBy(gateway)).to.deep.equal([])
  })

  it('are those of AWS only, if Bedrock is the only cloud', async () => {
    const bedrock = {
      ...{ format: 'bedrock', auth: 'aws', region: 'eu-central-1', base_url: 'http://127.0.0.1:9' },
    }
    const CONFIG = await writeSettings(dump({ providers: { bedrock } }))
    gateway = await startGatewayProcess({ ...ENVIRONMENT, CONFIG })
    const messages = [{ role: 'user', content: 'Which track?' }]
    const request = { model: 'bedrock:eu.amazon.nova-pro-v1:0', messages }
    // Nothing answers there, but the request is signed before.
    expect((await gateway.call('POST', '/v1/chat/completions', request)).status).to.equal(502)
    expect(await gateway.stop()).to.equal(0)
    expect(loadedBy(gateway)).to.deep.equal(['@aws-sdk', '@smithy'])
  })

  it('are imported by the source when they are needed only', () => {
    const folder = fileURLToPath(ROOT)
    const imports = SOURCE_FOLDERS.flatMap((name) => listFiles(name, '.ts')).flatMap((file) => {
      const text = readFileSync(path.join(folder, file), 'utf8')
      const found = text.matchAll(
        /^(?:import|export)\b[^'"]*['"](?:@aws-sdk|@smithy|@azure|google-auth-library)\b.*$/gm,
      )
      return [...found].map(([line]) => ({ file, line }))
    })
    expect(imports.map(({ file }) => file)).to.include('providers/auth/entra.ts')
    expect(imports.filter(({ line }) => !/^import type\b/.test(line))).to.deep.equal([])
  })
})
