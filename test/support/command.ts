import { Writable } from 'node:stream'

/** Runs a command of the program in this process, to its end. `stderr` is the message of its failure. */
export async function runCommand(args: readonly string[], environment: Record<string, string> = {}) {
  // Imported like the modules of the commands, which the program imports when it runs them: as ES modules.
  const { describeFailure } = await import('../../config/cli/describe-failure.ts')
  const { runProgram } = await import('../../config/cli/run-program.ts')
  let text = ''
  const stdout = new Writable({
    write(chunk, _, done) {
      text += chunk
      done()
    },
  })
  try {
    await runProgram(args, environment, stdout)
    return { code: 0, stdout: text, stderr: '' }
  } catch (error) {
    const { message, exitCode } = describeFailure(error)
    return { code: exitCode, stdout: text, stderr: message === '' ? '' : `${message}\n` }
  }
}
