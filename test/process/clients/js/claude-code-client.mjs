// Claude Code without a terminal.
import assert from 'node:assert/strict'
import { API_KEY, BASE_URL, runCases } from './cases.mjs'
import { callWith, inFolder, runTool } from './run-tool.mjs'

async function runTurn(model, prompt, ...options) {
  return await inFolder(async (folder) => {
    const env = {
      ANTHROPIC_BASE_URL: BASE_URL,
      ANTHROPIC_AUTH_TOKEN: API_KEY,
      ANTHROPIC_MODEL: model,
      CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC: '1',
      DISABLE_AUTOUPDATER: '1',
    }
    const args = ['-p', prompt, '--output-format', 'json', ...options]
    const output = await runTool(process.env.CLAUDE_PROGRAM, args, { cwd: folder, env })
    const line = output.split('\n').find((text) => text.startsWith('{'))
    assert.ok(line, output.slice(-1000))
    return JSON.parse(line)
  })
}

await runCases('claude-code', {
  async text(model) {
    const { is_error, result } = await runTurn(model, 'Say hello', '--tools', '')
    assert.equal(is_error, false, result)
    assert.match(result, new RegExp(`Say hello.*answering as ${model}`, 's'))
  },
  async 'tool result'(model) {
    const prompt = `Use Bash ${callWith({ command: 'echo from-claude-code', description: 'Greets' })}`
    const { num_turns, result } = await runTurn(
      model,
      prompt,
      ...['--tools', 'Bash', '--allowedTools', 'Bash(echo:*)'],
    )
    assert.equal(num_turns, 2, result)
    assert.match(result, /from-claude-code/)
  },
  async errors(model) {
    const { is_error, result } = await runTurn(model, 'This is forbidden', '--tools', '')
    assert.equal(is_error, true)
    assert.match(result, /blocked by firewall rule/)
  },
})
