import { createHash } from 'node:crypto'
import type { EndpointResponse } from '../../core/contract/index.ts'

const STYLE = `
body { margin: 0; min-height: 100vh; display: grid; place-items: center; background: #f6f7f9;
  color: #1c2430; font: 16px/1.5 system-ui, sans-serif }
main { box-sizing: border-box; width: min(28rem, 100vw); padding: 2rem; background: #fff;
  border: 1px solid #d9dee6; border-radius: 8px }
h1 { margin: 0 0 1rem; font-size: 1.25rem }
.code { margin: 1rem 0; font: 700 1.75rem/1 ui-monospace, monospace; text-align: center }
label, input { display: block; box-sizing: border-box; width: 100% }
input { margin: .25rem 0 1rem; padding: .5rem; font: inherit; border: 1px solid #8a94a3;
  border-radius: 4px }
button { padding: .5rem 1rem; font: inherit; border: 1px solid #1f5fbf; border-radius: 4px;
  background: #1f5fbf; color: #fff; cursor: pointer }
button.plain { background: #fff; color: #1f5fbf }
form { margin: 1rem 0 0 }
[role=alert] { padding: .5rem .75rem; background: #fdecea; border-left: 4px solid #b3261e }
@media (prefers-color-scheme: dark) {
  body { background: #14181f; color: #e6e9ee } main { background: #1c222c; border-color: #384252 }
  input { background: #14181f; color: inherit } button.plain { background: #1c222c; color: #8ab4f8 }
  [role=alert] { background: #3a1d1b }
}`

const STYLE_HASH = createHash('sha256').update(STYLE).digest('base64')

/** Nothing but the style above. The form leads on to the identity provider, which is another site. */
const CONTENT_SECURITY_POLICY = [
  "default-src 'none'",
  `style-src 'sha256-${STYLE_HASH}'`,
  "form-action 'self' https: http://localhost:* http://127.0.0.1:*",
  "frame-ancestors 'none'",
  "base-uri 'none'",
].join('; ')

/** A page of the gateway that needs no scripts. `content` is HTML. */
export function htmlPage(title: string, content: string, status = 200): EndpointResponse {
  const body = `<!doctype html>
<html lang="en"><head><meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>${escapeHtml(title)} · Signalbox</title><style>${STYLE}</style></head>
<body><main><h1>${escapeHtml(title)}</h1>
${content}
</main></body></html>
`
  const headers = {
    'content-type': 'text/html; charset=utf-8',
    'content-security-policy': CONTENT_SECURITY_POLICY,
    'cross-origin-opener-policy': 'same-origin',
  }
  return { status, headers, body }
}

export function escapeHtml(text: string): string {
  return text.replaceAll(/[&<>"']/g, (character) => `&#${character.charCodeAt(0)};`)
}
