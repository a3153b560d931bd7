export { createRandom, type Random } from '../../config/demo/random.ts'
