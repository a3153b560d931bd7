import { createHash } from 'node:crypto'

/** DeepSeek keeps users apart by an id of up to 512 letters, digits, `_` and `-`; any other name is hashed (reference 3). */
export function writeUserId(user: string): string {
  return VALID.test(user) ? user : createHash('sha256').update(user).digest('base64url')
}

const VALID = /^[A-Za-z0-9_-]{1,512}$/
