/** The command that controls a test server of `serve`: `control URL ACTION [ARGUMENT]`. */
const [url, action, argument = ''] = process.argv.slice(2)
const response = await fetch(`${url}/${action}/${argument}`, { method: 'POST' })
const text = await response.text()
if (response.ok) process.stdout.write(text)
else process.stderr.write(text)
process.exitCode = response.ok ? 0 : 1
