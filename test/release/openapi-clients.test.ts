import { expect } from 'chai'
import { startGateway } from '../support/gateway.ts'
import { makeToolFolder, runTool, whyNoTools } from '../support/openapi-tools.ts'
import { skip } from '../support/skip.ts'

describe('/openapi.json, for tools', () => {
  let folder: string

  before(async function () {
    const reason = whyNoTools()
    if (reason !== undefined) skip(this, reason)
    const gateway = await startGateway()
    folder = await makeToolFolder((await gateway.call('GET', '/openapi.json')).body)
    await gateway.stop()
  })

  const expectSuccess = async (tool: string, ...parameters: readonly string[]) => {
    const { exitCode, output } = await runTool(folder, tool, ...parameters)
    expect(exitCode, output).to.equal(0)
    return output
  }

  it('has no findings of Spectral', async () => {
    await expectSuccess('spectral', 'lint', '-r', 'spectral.yaml', '--fail-severity=hint', 'openapi.json')
  })

  it("has no findings of Redocly's recommended rules", async () => {
    const output = await expectSuccess('redocly', 'lint', '--extends=recommended', 'openapi.json')
    expect(output).not.to.match(/You have \d+ (?:warning|error)/)
  })

  for (const { generator, parameters } of [
    {
      generator: 'openapi-typescript',
      parameters: ['openapi.json', '-o', 'generated/openapi-typescript.d.ts'],
    },
    {
      generator: 'openapi-ts',
      parameters: ['-i', 'openapi.json', '-o', 'generated/hey-api', '--client', '@hey-api/client-fetch'],
    },
  ]) {
    it(`gives ${generator} a client that reads texts, calls, images, usage and past rules`, async () => {
      await expectSuccess(generator, ...parameters)
      const program = generator === 'openapi-ts' ? 'hey-api.ts' : `${generator}.ts`
      const options = ['--strict', '--noEmit', '--module', 'nodenext', '--target', 'es2023', '--skipLibCheck']
      await expectSuccess('tsc', ...options, program)
    })
  }
})
