/** For metrics of plugin packages: `new Counter({ …, registers: [host.metrics] })`. */
export { Counter, Gauge, Histogram, type Registry } from 'prom-client'
